import type { FilePipeline } from '../../config/pipeline-file.js'
import type { FileMistake } from '../../config/source-text.js'
import { ApiError } from '../server/api-error.js'
import type { Server } from '../server/server.js'
import type { Plan } from './plan.js'
import type { Normalise } from './planned-changes.js'

/** The fields that decide what a pipeline fills and what it follows. */
const ORDERING: ReadonlySet<string> = new Set([
  'after',
  'source_query',
  'source_table',
  'source_columns',
  'source_connection',
  'target_table',
  'target_connection',
  'tasks',
])

export interface CheckedOrder {
  readonly mistakes: readonly FileMistake[]
  /** The names of pipelines in the order in which they can be saved. */
  readonly order: readonly string[]
}

/**
 * Pipelines that would form a cycle once the plan is applied. The server rejects the last of them too,
 * but after the others have been changed. A pipeline that is created before the mart that it reads could run, and fail, in
 * between.
 */
export async function checkOrder(
  server: Server,
  plan: Plan,
  { prune, normalise }: { readonly prune: boolean; readonly normalise: Normalise },
): Promise<CheckedOrder> {
  const files = [
    ...plan.creates,
    ...plan.updates
      .filter(({ changes }) => changes.some(({ field }) => ORDERING.has(field)))
      .map(({ file }) => file),
  ]
  if (files.length === 0) return { mistakes: [], order: [] }
  const body = {
    pipelines: files.map(({ fields }) => normalise(fields)),
    deleted: prune ? plan.extra.map(({ name }) => name) : [],
  }
  try {
    const { conflicts, order } = await server.ask(
      server.api.POST('/graph/validate', { body: body as never, ...server.withoutTimeout }),
    )
    const mistakes = conflicts.map(({ name, code, detail }) => {
      const file = files.find((one) => one.name === name)!
      const field = code === 'AFTER_UNKNOWN' ? 'after' : orderingFieldOf(file)
      return { place: file.locate(field), message: `${field}: ${code}: ${detail}` }
    })
    return { mistakes, order }
  } catch (error) {
    if (!(error instanceof ApiError) || error.mistakes.length === 0) throw error
    return { mistakes: error.mistakes.map(({ field, message }) => placed(files, field, message)), order: [] }
  }
}

/** The one that a reader would change: `after` if the file has it, else what it reads. */
function orderingFieldOf({ fields }: FilePipeline): string {
  if (Array.isArray(fields.after) && fields.after.length > 0) return 'after'
  return ['source_table', 'source_query'].find((field) => typeof fields[field] === 'string') ?? 'tasks'
}

function placed(files: readonly FilePipeline[], path: string, message: string): FileMistake {
  const [, n, field = ''] = /^pipelines\.(\d+)\.(.*)$/s.exec(path) ?? []
  return { place: files[Number(n ?? 0)]!.locate(field), message: `${field}: ${message}` }
}

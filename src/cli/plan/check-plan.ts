import type { FilePipeline } from '../../config/pipeline-file.js'
import type { FileMistake } from '../../config/source-text.js'
import { fieldsThatChange } from '../../model/pipeline-fields.js'
import { fileMistakes } from '../files/mistakes.js'
import { ApiError } from '../server/api-error.js'
import type { Server } from '../server/server.js'
import type { Fields, Validation } from '../server/wire.js'
import type { Plan } from './plan.js'
import type { Normalise, PlannedChange } from './planned-changes.js'

/** Changes that cannot make a query or a target invalid. */
const HARMLESS: readonly string[] = fieldsThatChange('always')

/** Validates all changes on the server. Returns all mistakes, each with its place. */
export async function checkPlan(server: Server, plan: Plan, normalise: Normalise): Promise<FileMistake[]> {
  const mistakes: FileMistake[] = []
  const marts = martsOf(plan)
  const check = async (file: FilePipeline, fields: Readonly<Fields>) =>
    (await checkOne(server, file, fields)).filter(({ missing }) => missing === null || !marts.has(missing))
  for (const file of plan.creates) mistakes.push(...(await check(file, file.fields)))
  for (const { file, changes } of plan.updates) {
    const found = await check(file, normalise(file.fields))
    // Its source may be unavailable for a while; that must not block a change of the schedule.
    if (found.length > 0 && !(isHarmless(changes) && found.every(({ isRefused }) => !isRefused)))
      mistakes.push(...found)
  }
  return mistakes
}

interface Found extends FileMistake {
  readonly isRefused: boolean
  /** The table that the query lacks; null: it is another mistake. */
  readonly missing: string | null
}

/** A mart that another pipeline fills may be read before it exists: the pipelines run in order. */
function martsOf({ creates, updates, unchanged, extra }: Plan): ReadonlySet<string> {
  const files = [...creates, ...updates.map(({ file }) => file), ...unchanged].map(({ fields }) => fields)
  return new Set([...files, ...extra].map(({ target_table }) => String(target_table)))
}

async function checkOne(server: Server, file: FilePipeline, fields: Readonly<Fields>): Promise<Found[]> {
  try {
    const answer = await server.ask(server.api.POST('/validate', { body: fields as never }))
    return findings(file, answer)
  } catch (error) {
    if (!(error instanceof ApiError) || error.mistakes.length === 0) throw error
    return fileMistakes(file, error).map((mistake) => ({ ...mistake, isRefused: true, missing: null }))
  }
}

function findings(file: FilePipeline, { errors }: Validation): Found[] {
  return errors.map(({ field, position, code, message, hint }) => ({
    place: file.locate(field, position),
    message: `${field}: ${code}: ${message} ${hint}`,
    isRefused: false,
    missing: /relation "([^"]+)" does not exist/.exec(message)?.[1] ?? null,
  }))
}

function isHarmless(changes: readonly PlannedChange[]): boolean {
  return changes.every(({ field }) => HARMLESS.includes(field))
}

import { pipelineActions } from '../../api/pipeline.js'
import { overviewQuery } from '../../api/pipelines.js'
import { queryClient } from '../../api/query-client.js'
import type { PipelineInput, PipelineLine, PipelinePatch, Rehearsal } from '../../api/wire.js'
import type { WrittenPipeline } from './read-yaml.js'

/** What would happen to one pipeline, as the server tells it. */
export interface Planned {
  readonly written: WrittenPipeline
  /** Null: there is none of this name yet. */
  readonly existing: Pick<PipelineLine, 'id' | 'config_version'> | null
  readonly outcome: 'create' | 'update' | 'unchanged' | 'undecided' | 'refused'
  readonly rehearsal: Rehearsal | null
  readonly error: unknown
}

export async function planAll(pipelines: readonly WrittenPipeline[]): Promise<readonly Planned[]> {
  const { items } = await queryClient.fetchQuery({ ...overviewQuery(), staleTime: 0 })
  const known = new Map(items.map((line) => [line.name, line]))
  return Promise.all(pipelines.map((written) => planOne(written, known.get(written.name) ?? null)))
}

async function planOne(written: WrittenPipeline, existing: PipelineLine | null): Promise<Planned> {
  try {
    const rehearsal =
      existing === null
        ? await pipelineActions.rehearseCreation(written.fields as PipelineInput)
        : await pipelineActions.rehearse({ pipeline: existing, patch: written.fields as PipelinePatch })
    return { written, existing, outcome: outcomeOf(existing, rehearsal), rehearsal, error: null }
  } catch (error) {
    return { written, existing, outcome: 'refused', rehearsal: null, error }
  }
}

function outcomeOf(existing: PipelineLine | null, { changes, checkpoint }: Rehearsal): Planned['outcome'] {
  if (existing === null) return 'create'
  if (Object.keys(changes).length === 0) return 'unchanged'
  return checkpoint === 'undecided' ? 'undecided' : 'update'
}

/** Its id. What a file decides is refused here too: only its file changes it. */
export async function carryOut({ written, existing }: Planned): Promise<string> {
  const { id } =
    existing === null
      ? await pipelineActions.create(written.fields as PipelineInput)
      : await pipelineActions.save({ pipeline: existing, patch: written.fields as PipelinePatch }, false)
  return id
}

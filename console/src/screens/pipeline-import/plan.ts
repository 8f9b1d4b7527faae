import { pipelineActions } from '../../api/pipeline.js'
import { overviewQuery } from '../../api/pipelines.js'
import { queryClient } from '../../api/query-client.js'
import type { DryRun, PipelineInput, PipelineLine, PipelinePatch } from '../../api/wire.js'
import type { WrittenPipeline } from './read-yaml.js'

/** The planned change of one pipeline, as computed by the server. */
export interface Planned {
  readonly written: WrittenPipeline
  /** Null: no pipeline of this name exists. */
  readonly existing: Pick<PipelineLine, 'id' | 'config_version'> | null
  readonly outcome: 'create' | 'update' | 'unchanged' | 'undecided' | 'refused'
  readonly dryRun: DryRun | null
  readonly error: unknown
}

export async function planAll(pipelines: readonly WrittenPipeline[]): Promise<readonly Planned[]> {
  const { items } = await queryClient.fetchQuery({ ...overviewQuery(), staleTime: 0 })
  const known = new Map(items.map((line) => [line.name, line]))
  return Promise.all(pipelines.map((written) => planOne(written, known.get(written.name) ?? null)))
}

async function planOne(written: WrittenPipeline, existing: PipelineLine | null): Promise<Planned> {
  try {
    const dryRun =
      existing === null
        ? await pipelineActions.dryRunCreation(written.fields as PipelineInput)
        : await pipelineActions.dryRun({ pipeline: existing, patch: written.fields as PipelinePatch })
    return { written, existing, outcome: outcomeOf(existing, dryRun), dryRun, error: null }
  } catch (error) {
    return { written, existing, outcome: 'refused', dryRun: null, error }
  }
}

function outcomeOf(existing: PipelineLine | null, { changes, checkpoint }: DryRun): Planned['outcome'] {
  if (existing === null) return 'create'
  if (Object.keys(changes).length === 0) return 'unchanged'
  return checkpoint === 'undecided' ? 'undecided' : 'update'
}

/** Returns the id. Pipelines managed by a file are rejected here too. */
export async function carryOut({ written, existing }: Planned): Promise<string> {
  const { id } =
    existing === null
      ? await pipelineActions.create(written.fields as PipelineInput)
      : await pipelineActions.save({ pipeline: existing, patch: written.fields as PipelinePatch }, false)
  return id
}

import type { Pipeline, PipelineInput, PipelinePatch } from '../../api/wire.js'

/** The query that reads: of the task plan when there is one, which has priority. */
export function readerOf(pipeline: Pipeline): string {
  return pipeline.tasks.find(({ task_type }) => task_type === 'SQL')?.body ?? pipeline.source_query
}

/** The patch that puts this query where the present one stands. */
export function patchOfQuery(pipeline: Pipeline, query: string): PipelinePatch {
  const reader = pipeline.tasks.find(({ task_type }) => task_type === 'SQL')
  if (reader === undefined) return { source_query: query }
  return { tasks: pipeline.tasks.map((task) => (task === reader ? { ...task, body: query } : task)) }
}

/** A pipeline as it would be created anew: without what the server decides. */
export function draftOf(pipeline: Pipeline, patch: PipelinePatch): PipelineInput {
  const { id, status, config_version, created_at, updated_at, managed_by, ...spec } = pipeline
  return { ...spec, ...patch } as PipelineInput
}

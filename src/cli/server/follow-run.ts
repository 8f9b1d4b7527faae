import { detail } from '../output/print.js'
import { ProgressLine } from '../output/progress-line.js'
import type { Server } from './server.js'
import { describeRun, requireSuccess, watchRun } from './watch-run.js'
import type { Run } from './wire.js'

/** Requests a run, waits until it ends and reports the result. Throws if it did not succeed. */
export async function followRun(
  server: Server,
  pipeline: { id: string; name: string },
  signal: AbortSignal,
): Promise<Run> {
  const path = { id: pipeline.id }
  const { run_id } = await server.ask(server.api.POST('/pipelines/{id}/run', { params: { path }, signal }))
  const run = await watchRun(server, { id: run_id, pipelineId: pipeline.id }, { signal })
  detail(`${pipeline.name}: ${describeRun(run)}`)
  return requireSuccess(run)
}

/** A line that changes in place, for the one run that the user follows. */
export async function watchWithProgress(
  server: Server,
  run: { id: string; pipelineId: string },
  signal: AbortSignal,
): Promise<Run> {
  const progress = new ProgressLine()
  try {
    return await watchRun(server, run, {
      onChange: (seen) => progress.show(`${seen.pipeline_name}: ${describeRun(seen)}`),
      signal,
    })
  } finally {
    progress.end()
  }
}

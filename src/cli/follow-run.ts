import { detail } from './output.js'
import { Progress } from './progress.js'
import type { Server } from './server/server.js'
import { describeRun, requireSuccess, watchRun } from './server/watch-run.js'
import type { Run } from './server/wire.js'

export type EndedRun = Run

/** Requests a run and tells what becomes of it, until it has ended well. Throws when it did not. */
export async function followRun(
  server: Server,
  pipeline: { id: string; name: string },
  signal: AbortSignal,
): Promise<EndedRun> {
  const path = { id: pipeline.id }
  const { run_id } = await server.ask(server.api.POST('/pipelines/{id}/run', { params: { path }, signal }))
  const tell = linesFor(pipeline.name)
  return requireSuccess(await watchRun(server, { id: run_id, pipelineId: pipeline.id }, tell, signal))
}

/** Several runs are told side by side, so each gets lines and none a line that changes. */
function linesFor(name: string): (run: Run) => void {
  let told = ''
  return (run) => {
    const news = `${name}: ${describeRun(run)}`
    if (news !== told) detail(news)
    told = news
  }
}

/** A line that changes in place, for the one run that somebody looks at. */
export async function watchWithProgress(
  server: Server,
  run: { id: string; pipelineId: string },
  signal: AbortSignal,
): Promise<Run> {
  const progress = new Progress()
  try {
    return await watchRun(
      server,
      run,
      (seen) => progress.tell(`${seen.pipeline_name}: ${describeRun(seen)}`),
      signal,
    )
  } finally {
    progress.end()
  }
}

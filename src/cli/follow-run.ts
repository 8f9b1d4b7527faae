import { setTimeout as delay } from 'node:timers/promises'
import type { HttpClient, RunView } from '../client/http-client.js'
import { ERRORS, type ErrorCode, VitrinaError } from '../model/errors.js'
import { detail } from './output.js'

export type EndedRun = RunView

const POLL_MS = 100
const STILL_MS = 5_000
const ENDED = ['SUCCESS', 'FAILED', 'PAUSED', 'CANCELLED']

/** Requests a run and tells what becomes of it, until it has ended well. Throws when it did not. */
export async function followRun(
  client: HttpClient,
  pipeline: { id: string; name: string },
  signal: AbortSignal,
): Promise<EndedRun> {
  const { run_id } = await client.requestRun(pipeline.id, signal)
  let told = ''
  let toldAt = 0
  for (;;) {
    const run = await client.getRun(run_id, signal)
    const news = `${pipeline.name}: ${describe(run)}`
    if (news !== told || performance.now() - toldAt > STILL_MS) {
      detail(news)
      told = news
      toldAt = performance.now()
    }
    if (ENDED.includes(run.status)) return requireSuccess(run, pipeline.name)
    await delay(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

function describe(run: RunView): string {
  if (run.status === 'REQUESTED') return 'requested, waiting for a runner to claim it'
  const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : ''
  return `${run.status.toLowerCase()}${attempt}, ${run.rows_read} rows read, ${run.rows_written} written, ${run.batches} batches`
}

function requireSuccess(run: RunView, name: string): EndedRun {
  if (run.status === 'SUCCESS') return run
  const code =
    run.error_code !== null && run.error_code in ERRORS ? (run.error_code as ErrorCode) : 'INTERNAL'
  throw new VitrinaError(
    code,
    `The run of ${name} ended ${run.status}: ${run.error ?? 'no reason was given'}`,
    'Mend it and start the demo again; it goes on where it stopped.',
  )
}

import { setTimeout as delay } from 'node:timers/promises'
import { codeName, ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'
import { isOver } from '../../model/status.js'
import { EventNews } from './event-news.js'
import type { Server } from './server.js'
import type { Run, RunDetail } from './wire.js'

/** Batches can end many times a second, faster than anyone can read. */
const LEAST_MS = 100

export interface WatchedRun {
  readonly id: string
  readonly pipelineId: string
}

interface WatchOptions {
  readonly onChange?: (run: Run) => void
  readonly signal: AbortSignal
}

/** Calls `onChange` with a run until it has ended, successfully or not. */
export async function watchRun(
  server: Server,
  watched: WatchedRun,
  { onChange = () => {}, signal }: WatchOptions,
): Promise<Run> {
  const news = new EventNews(server, watched.id)
  try {
    for (;;) {
      const run = await currentRun(server, watched, signal)
      onChange(run)
      if (isOver(run.status)) return run
      await news.next(signal)
      await delay(LEAST_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  } finally {
    news.close()
  }
}

/** By the status of its pipeline: the run itself would include its latest thousand batches each time. */
async function currentRun(server: Server, { id, pipelineId }: WatchedRun, signal: AbortSignal): Promise<Run> {
  const path = { id: pipelineId }
  const status = await server.ask(server.api.GET('/pipelines/{id}/status', { params: { path }, signal }))
  const found = [status.current_run, status.last_run].find((run) => run?.id === id)
  return found ?? (await readRun(server, id, signal))
}

export function readRun(server: Server, id: string, signal?: AbortSignal): Promise<RunDetail> {
  return server.ask(server.api.GET('/runs/{id}', { params: { path: { id } }, ...(signal ? { signal } : {}) }))
}

/** The status of a run in half a line. */
export function describeRun(run: Run): string {
  if (run.status === 'REQUESTED') return 'requested, waiting for a runner to claim it'
  const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : ''
  const deleted = run.rows_deleted > 0 ? `, ${run.rows_deleted} deleted` : ''
  const held = run.rows_quarantined > 0 ? `, ${run.rows_quarantined} quarantined` : ''
  const twice = run.rows_duplicate > 0 ? `, ${run.rows_duplicate} with a repeated key` : ''
  return `${run.status.toLowerCase()}${attempt}, ${run.rows_read} rows read, ${run.rows_written} written${deleted}${held}${twice}, ${run.batches} ${run.batches === 1 ? 'batch' : 'batches'}`
}

export function requireSuccess<T extends Run>(run: T): T {
  if (run.status === 'SUCCESS') return run
  const code = codeName(run.error_code ?? '')
  throw new VitrinaError(
    code in ERRORS ? (code as ErrorCode) : 'RUN_NOT_SUCCEEDED',
    `The run of ${run.pipeline_name} ended ${run.status}${run.error === null ? '' : `: ${run.error}`}`,
    run.error_hint ??
      `Run "vitrina runs get ${run.id}" to see its progress; a new run resumes from its checkpoint.`,
  )
}

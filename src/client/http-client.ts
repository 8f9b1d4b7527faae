import { ERRORS, type ErrorCode, VitrinaError } from '../model/errors.js'
import type { RunStatus } from '../model/status.js'

/** What `POST /pipelines/{id}/run` answers. */
export interface RequestedRun {
  readonly run_id: string
  readonly status: string
}

/** What `GET /runs/{id}` answers, as far as our own commands look at it. */
export interface RunView {
  readonly id: string
  readonly status: RunStatus
  readonly attempt: number
  readonly duration_ms: number | null
  readonly rows_read: number
  readonly rows_written: number
  readonly batches: number
  readonly error: string | null
  readonly error_code: string | null
}

const TIMEOUT_MS = 30_000

/** Speaks to the API as any other program would. */
export class HttpClient {
  readonly #base: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#base = new URL('/api/v1', url).href
    this.#token = token
  }

  requestRun(pipelineId: string, signal?: AbortSignal): Promise<RequestedRun> {
    return this.#call('POST', `/pipelines/${encodeURIComponent(pipelineId)}/run`, signal)
  }

  getRun(runId: string, signal?: AbortSignal): Promise<RunView> {
    return this.#call('GET', `/runs/${encodeURIComponent(runId)}`, signal)
  }

  async #call<T>(method: string, path: string, signal?: AbortSignal): Promise<T> {
    const timeout = AbortSignal.timeout(TIMEOUT_MS)
    const response = await fetch(this.#base + path, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, accept: 'application/json' },
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    }).catch((error) => {
      signal?.throwIfAborted()
      throw new VitrinaError(
        'INTERNAL',
        `The API at ${this.#base} does not answer: ${reason(error)}.`,
        'See whether it runs, and look at its log.',
        { cause: error },
      )
    })
    if (response.ok) return (await response.json()) as T
    throw await refusal(response)
  }
}

/** fetch says "fetch failed" and hides why in the cause. */
function reason(error: Error): string {
  return (error.cause as Error | undefined)?.message || error.message
}

async function refusal(response: Response): Promise<VitrinaError> {
  const problem = (await response.json().catch(() => ({}))) as {
    code?: string
    detail?: string
    hint?: string
  }
  const code = problem.code !== undefined && problem.code in ERRORS ? (problem.code as ErrorCode) : 'INTERNAL'
  return new VitrinaError(
    code,
    problem.detail ?? `The API answered ${response.status}.`,
    problem.hint ?? 'See the log of the API.',
  )
}

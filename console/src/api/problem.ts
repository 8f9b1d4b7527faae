/** RFC 9457, the format of all errors of the API. */
export interface ProblemDocument {
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly vtr: string
  readonly hint: string
  readonly retryable: boolean
  readonly request_id: string | null
  readonly sqlstate?: string
  readonly needed_role?: string
  readonly errors?: readonly { readonly field: string; readonly code: string; readonly message: string }[]
  /** Details that belong to one code, such as the conflicting run. */
  readonly [fact: string]: unknown
}

/** Why a request failed: an error of the API, or no response at all. */
export class ApiProblem extends Error {
  readonly problem: ProblemDocument

  constructor(problem: ProblemDocument, cause?: unknown) {
    super(problem.detail, { cause })
    this.name = 'ApiProblem'
    this.problem = problem
  }

  get isOffline(): boolean {
    return this.problem.code === OFFLINE
  }
}

const OFFLINE = 'OFFLINE'

/** The server did not respond; it may not have received the request. */
export function isOffline(error: unknown): boolean {
  return error instanceof ApiProblem && error.isOffline
}

export function offline(cause: unknown): ApiProblem {
  return new ApiProblem(
    {
      title: 'The server is not responding.',
      status: 0,
      detail: 'No response from the server.',
      code: OFFLINE,
      vtr: '',
      hint: 'Check that the server is running and reachable from this machine. The console retries automatically.',
      retryable: true,
      request_id: null,
    },
    cause,
  )
}

/** A body that is not a problem document was sent by something in between, most likely a proxy. */
export function toProblem(status: number, body: unknown, requestId: string | null): ApiProblem {
  if (typeof body === 'object' && body !== null && 'code' in body && 'detail' in body)
    return new ApiProblem(body as ProblemDocument)
  return new ApiProblem({
    title: 'Unexpected response.',
    status,
    detail: `Received status ${status} from something between this browser and Vitrina.`,
    code: `HTTP_${status}`,
    vtr: '',
    hint: 'Check the proxy in front of the server.',
    retryable: status >= 500,
    request_id: requestId,
  })
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  return new ApiProblem(
    {
      title: 'Unexpected error in the console.',
      status: 0,
      detail: error instanceof Error ? error.message : String(error),
      code: 'CONSOLE',
      vtr: '',
      hint: 'Reload the page. If the error occurs again, report it with the steps that led to it.',
      retryable: false,
      request_id: null,
    },
    error,
  )
}

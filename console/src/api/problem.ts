/** RFC 9457, as every refusal of the API comes. */
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
  /** Facts that belong to one code, such as the run that stands in the way. */
  readonly [fact: string]: unknown
}

/** What a request failed with, in one shape: a refusal of the API, or no answer at all. */
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

/** No answer came; the server may not even know of the request. */
export function isOffline(error: unknown): boolean {
  return error instanceof ApiProblem && error.isOffline
}

export function offline(cause: unknown): ApiProblem {
  return new ApiProblem(
    {
      title: 'The server does not answer.',
      status: 0,
      detail: 'No answer came from the server.',
      code: OFFLINE,
      vtr: '',
      hint: 'See whether it runs and whether this machine reaches it. The console tries again by itself.',
      retryable: true,
      request_id: null,
    },
    cause,
  )
}

/** A body that is no problem document came from something in between: a proxy, most likely. */
export function toProblem(status: number, body: unknown, requestId: string | null): ApiProblem {
  if (typeof body === 'object' && body !== null && 'code' in body && 'detail' in body)
    return new ApiProblem(body as ProblemDocument)
  return new ApiProblem({
    title: 'The answer is not one of Vitrina.',
    status,
    detail: `Something between this browser and the server answered ${status}.`,
    code: `HTTP_${status}`,
    vtr: '',
    hint: 'Look at the proxy in front of the server.',
    retryable: status >= 500,
    request_id: requestId,
  })
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error
  return new ApiProblem(
    {
      title: 'The console made a mistake.',
      status: 0,
      detail: error instanceof Error ? error.message : String(error),
      code: 'CONSOLE',
      vtr: '',
      hint: 'Load the page again. If it comes back, tell us what you did.',
      retryable: false,
      request_id: null,
    },
    error,
  )
}

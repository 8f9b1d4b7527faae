/** POST requests that change nothing. */
const HARMLESS = /\/(validate|preview|session|code)$/
/** A notification follows its action directly; an older action has none. */
const FRESH_MS = 2_000

let last: { readonly requestId: string; readonly at: number } | null = null

/** Remembers the request of an action: the audit log lists every change under the id of its request. */
export function rememberAction(request: Request, response: Response): void {
  const requestId = response.headers.get('x-request-id')
  if (request.method === 'GET' || !response.ok || requestId === null) return
  const { pathname, searchParams } = new URL(request.url)
  if (HARMLESS.test(pathname) || searchParams.get('dry_run') === 'true') return
  last = { requestId, at: performance.now() }
}

/** The id of the request that just changed something, once; null: none did. */
export function takeLastAction(): string | null {
  const action = last
  last = null
  return action !== null && performance.now() - action.at < FRESH_MS ? action.requestId : null
}

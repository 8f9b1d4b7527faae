/** Requests that are sent as deeds and change nothing. */
const HARMLESS = /\/(validate|preview|session|code)$/
/** A toast follows its deed; what nobody took by then belongs to none. */
const FRESH_MS = 2_000

let last: { readonly requestId: string; readonly at: number } | null = null

/** Every change stands in the audit under the id of its request: what was just done can be looked up there. */
export function rememberDeed(request: Request, response: Response): void {
  const requestId = response.headers.get('x-request-id')
  if (request.method === 'GET' || !response.ok || requestId === null) return
  const { pathname, searchParams } = new URL(request.url)
  if (HARMLESS.test(pathname) || searchParams.get('dry_run') === 'true') return
  last = { requestId, at: performance.now() }
}

/** The request that did what is being told now, once; null: nothing was done just now. */
export function takeDeed(): string | null {
  const deed = last
  last = null
  return deed !== null && performance.now() - deed.at < FRESH_MS ? deed.requestId : null
}

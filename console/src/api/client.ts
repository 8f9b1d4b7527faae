import createFetchClient from 'openapi-fetch'
import { rememberAction } from './last-action.js'
import { offline, toProblem } from './problem.js'
import { sessionHeaders } from './session-key.js'
import type { paths } from './wire.js'

/** Every route with its types. The browser sends the session cookie; X-CSRF contains the session key. */
export const api = createFetchClient<paths>({
  baseUrl: '/api/v1',
  credentials: 'same-origin',
  fetch: reach,
})

interface Answer<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** The body of a successful response; everything else is thrown as an ApiProblem. */
export async function ask<T>(request: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await request
  if (response.ok) return data as T
  // For the query of the session itself, 401 is an expected response.
  if (response.status === 401 && !response.url.endsWith('/session')) signedOut()
  throw toProblem(response.status, error, response.headers.get('x-request-id'))
}

/** For requests with a token that the user entered: if it is rejected, the session is still valid. */
export async function askWithToken<T>(request: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await request
  if (response.ok) return data as T
  throw toProblem(response.status, error, response.headers.get('x-request-id'))
}

/** A file of the API. A link could not send the session key. */
export async function askForFile(address: string): Promise<Blob> {
  const response = await reach(new Request(address, { credentials: 'same-origin' }))
  if (response.ok) return response.blob()
  const error: unknown = await response.json().catch(() => null)
  return ask(Promise.resolve({ error, response }))
}

async function reach(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(sessionHeaders())) request.headers.set(name, value)
  try {
    const response = await fetch(request)
    reportReachable(true)
    rememberAction(request, response)
    return response
  } catch (error) {
    request.signal.throwIfAborted()
    reportReachable(false)
    throw offline(error)
  }
}

type Listener = () => void
const signedOutListeners = new Set<Listener>()
const reachableListeners = new Set<(isReachable: boolean) => void>()

/** Called when the session is no longer valid: signed out elsewhere, expired or revoked. */
export function onSignedOut(listener: Listener): () => void {
  signedOutListeners.add(listener)
  return () => signedOutListeners.delete(listener)
}

export function onReachable(listener: (isReachable: boolean) => void): () => void {
  reachableListeners.add(listener)
  return () => reachableListeners.delete(listener)
}

export function signedOut(): void {
  for (const listener of signedOutListeners) listener()
}

export function reportReachable(isReachable: boolean): void {
  for (const listener of reachableListeners) listener(isReachable)
}

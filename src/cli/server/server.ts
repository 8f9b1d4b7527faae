import { type ApiClient, createClient } from '../../client/api-client.js'
import { fetchWithoutTimeout } from '../../client/fetch-without-timeout.js'
import { VitrinaError } from '../../model/errors.js'
import { note } from '../output/print.js'
import { ApiError } from './api-error.js'
import { findConnection, type ServerConnection, type ServerFlags } from './connection.js'

interface ApiResponse<T> {
  readonly data?: T
  readonly error?: unknown
  readonly response: Response
}

/** The server that a command sends requests to. */
export interface Server extends ServerConnection {
  readonly api: ApiClient
  /** For requests that may take the server longer than the default timeout of fetch: pass it with the request. */
  readonly withoutTimeout: { readonly fetch: (request: Request) => Promise<Response> }
  /** The body of a response; throws if the server returned an error or did not respond. */
  ask<T>(request: Promise<ApiResponse<T>>): Promise<T>
}

export async function openServer(flags: ServerFlags): Promise<Server> {
  if (flags.token !== undefined) warnOfToken('Set VITRINA_API_TOKEN or use a context instead.')
  return connectTo(await findConnection(flags))
}

/** A token in the arguments of a command: other users of the machine can read it as long as the command runs. */
export function warnOfToken(remedy: string): void {
  note(`Warning: --token is visible in the process list. ${remedy}`)
}

export function connectTo({ url, token }: ServerConnection): Server {
  const api = createClient({ url, token, fetch: (request) => reach(request as Request, url) })
  const withoutTimeout = { fetch: (request: Request) => reach(request, url, fetchWithoutTimeout) }
  return { url, token, api, withoutTimeout, ask: (request) => ask(request, url) }
}

async function ask<T>(request: Promise<ApiResponse<T>>, url: string): Promise<T> {
  const { data, error, response } = await request
  if (response.ok) return data as T
  throw new ApiError(response.status, typeof error === 'object' && error !== null ? error : {}, url)
}

/** fetch, with a sentence instead of "fetch failed". */
export async function reach(
  request: Request,
  url: string,
  by: (request: Request) => Promise<Response> = fetch,
): Promise<Response> {
  try {
    return await by(request)
  } catch (error) {
    request.signal.throwIfAborted()
    throw new VitrinaError(
      'SERVER_UNREACHABLE',
      `No Vitrina API responds at ${url}: ${reason(error as Error)}.`,
      'Start one with "vitrina up", or set the address with --url, VITRINA_URL or --context.',
      { cause: error },
    )
  }
}

/** fetch hides the reason in the cause and, with several addresses, in its causes. */
function reason(error: Error): string {
  const cause = error.cause as (Error & { errors?: Error[] }) | undefined
  return cause?.message || cause?.errors?.[0]?.message || error.message
}

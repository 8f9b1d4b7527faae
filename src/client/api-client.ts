import createFetchClient, { type Client } from 'openapi-fetch'
import type { paths } from './api-types.js'

export interface ClientOptions {
  /** The address of the API, without /api/v1. */
  readonly url: string
  readonly token: string
  readonly fetch?: typeof fetch
}

/** Every route of the API with its types, generated from the document that the API serves. */
export type ApiClient = Client<paths>

export function createClient({ url, token, fetch }: ClientOptions): ApiClient {
  return createFetchClient<paths>({
    baseUrl: new URL('/api/v1', url).href,
    headers: { authorization: `Bearer ${token}` },
    ...(fetch === undefined ? {} : { fetch }),
  })
}

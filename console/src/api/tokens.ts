import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, ask, askWithToken } from './client.js'
import { queryClient } from './query-client.js'
import type { Role, Token } from './wire.js'

const PAGE = 100
const TOKENS_KEY = ['tokens'] as const

/** Newest first. */
export const tokensQuery = infiniteQueryOptions({
  queryKey: TOKENS_KEY,
  queryFn: ({ pageParam, signal }) => {
    const query = { limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) }
    return ask(api.GET('/tokens', { params: { query }, signal }))
  },
  initialPageParam: null as string | null,
  getNextPageParam: ({ next_cursor }) => next_cursor,
})

/** A token with its value, which is never shown again. */
export type NewToken = Token & { readonly token: string }

/** The token of the user, entered again: a session alone cannot create tokens. */
interface Confirmed {
  readonly ownToken: string
}

export interface TokenRequest extends Confirmed {
  readonly name: string
  readonly role: Role
  readonly expires_at: string | null
}

export interface RotationRequest extends Confirmed {
  readonly grace_seconds: number
  /** Not given: the expiry does not change. */
  readonly expires_at?: string | null
}

const at = (id: string) => ({ params: { path: { id } } })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const reread = () => void queryClient.invalidateQueries({ queryKey: TOKENS_KEY })

/** Responses are not cached: a value is shown once, to the user who created it. */
export const tokenActions = {
  create: async ({ ownToken, ...body }: TokenRequest): Promise<NewToken> => {
    const made = await askWithToken(api.POST('/tokens', { body, ...bearer(ownToken) }))
    reread()
    return made
  },
  rotate: async (id: string, { ownToken, ...body }: RotationRequest): Promise<NewToken> => {
    const request = { ...at(id), body, ...bearer(ownToken) }
    const made = await askWithToken(api.POST('/tokens/{id}/rotate', request))
    reread()
    return made
  },
  revoke: async (id: string): Promise<void> => {
    await ask(api.DELETE('/tokens/{id}', at(id)))
    reread()
  },
}

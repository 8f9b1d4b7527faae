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

/** A token with its value, which nobody will ever be told again. */
export type NewToken = Token & { readonly token: string }

/** The token of whoever asks, typed again: a session alone cannot make one. */
interface Confirmed {
  readonly ownToken: string
}

export interface TokenWish extends Confirmed {
  readonly name: string
  readonly role: Role
  readonly expires_at: string | null
}

export interface RotationWish extends Confirmed {
  readonly grace_seconds: number
  /** Not given: it ends as before. */
  readonly expires_at?: string | null
}

const at = (id: string) => ({ params: { path: { id } } })
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const reread = () => void queryClient.invalidateQueries({ queryKey: TOKENS_KEY })

/** The answers are not kept in the cache: a value is seen once, by whoever made it. */
export const tokenActions = {
  create: async ({ ownToken, ...wish }: TokenWish): Promise<NewToken> => {
    const made = await askWithToken(api.POST('/tokens', { body: wish, ...bearer(ownToken) }))
    reread()
    return made
  },
  rotate: async (id: string, { ownToken, ...wish }: RotationWish): Promise<NewToken> => {
    const request = { ...at(id), body: wish, ...bearer(ownToken) }
    const made = await askWithToken(api.POST('/tokens/{id}/rotate', request))
    reread()
    return made
  },
  revoke: async (id: string): Promise<void> => {
    await ask(api.DELETE('/tokens/{id}', at(id)))
    reread()
  },
}

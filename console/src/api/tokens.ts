import { infiniteQueryOptions } from '@tanstack/react-query'
import { api, ask } from './client.js'
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

export interface TokenWish {
  readonly name: string
  readonly role: Role
  readonly expires_at: string | null
}

export interface RotationWish {
  readonly grace_seconds: number
  /** Not given: it ends as before. */
  readonly expires_at?: string | null
}

const at = (id: string) => ({ params: { path: { id } } })
const reread = () => void queryClient.invalidateQueries({ queryKey: TOKENS_KEY })

/** The answers are not kept in the cache: a value is seen once, by whoever made it. */
export const tokenActions = {
  create: async (wish: TokenWish): Promise<NewToken> => {
    const made = await ask(api.POST('/tokens', { body: wish }))
    reread()
    return made
  },
  rotate: async (id: string, wish: RotationWish): Promise<NewToken> => {
    const made = await ask(api.POST('/tokens/{id}/rotate', { ...at(id), body: wish }))
    reread()
    return made
  },
  revoke: async (id: string): Promise<void> => {
    await ask(api.DELETE('/tokens/{id}', at(id)))
    reread()
  },
}

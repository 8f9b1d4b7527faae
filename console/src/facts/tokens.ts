/** The fields that determine the state of a token. */
interface Ends {
  readonly expires_at: string | null
  readonly revoked_at: string | null
}

export type TokenState = 'valid' | 'ending' | 'expired' | 'revoked'

/** Time that a user may need to get a new token. */
export const SOON_MS = 14 * 24 * 3_600_000

export function tokenStateOf({ expires_at, revoked_at }: Ends, now: number): TokenState {
  if (revoked_at !== null) return 'revoked'
  if (expires_at === null) return 'valid'
  const left = Date.parse(expires_at) - now
  if (left <= 0) return 'expired'
  return left <= SOON_MS ? 'ending' : 'valid'
}

export function hasEnded(state: TokenState): boolean {
  return state === 'expired' || state === 'revoked'
}

import { serverNow } from '../../time/clock.js'

/** The choices for the lifetime of a token. */
export const LIVES = ['d30', 'd90', 'd365', 'never'] as const
export type Life = (typeof LIVES)[number]

const DAY_MS = 86_400_000
const DAYS: Readonly<Record<Life, number | null>> = { d30: 30, d90: 90, d365: 365, never: null }

export function endOf(life: Life): string | null {
  const days = DAYS[life]
  return days === null ? null : new Date(serverNow() + days * DAY_MS).toISOString()
}

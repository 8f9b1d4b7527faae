import { z } from 'zod'

/** Not longer: proxies time out after a minute. */
export const waitTime = z
  .string()
  .regex(/^([1-9]|[1-5][0-9]|60)s$/, 'must be a duration from 1s to 60s')
  .optional()

/** `30s` in milliseconds. */
export function waitMs(text: string): number {
  return Number.parseInt(text, 10) * 1_000
}

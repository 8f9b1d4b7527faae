import { z } from 'zod'
import { ROLES, type Token } from '../../model/access.js'
import { line } from '../../model/text.js'
import { pageSchema } from './page.js'
import { toWire } from './to-wire.js'

/** Far beyond any useful date; a year with five digits is a typing error. */
const expiry = z.iso.datetime({ offset: true, error: 'must be a time such as 2030-01-31T00:00:00Z' })

export const tokenInput = z.strictObject({
  name: line(200).describe('What the token is for.').meta({ example: 'airflow' }),
  role: z.enum(ROLES).describe('viewer reads; operator also runs; admin also changes.'),
  expires_at: expiry
    .nullish()
    .describe('When it expires. Absent: never.')
    .meta({ example: '2030-01-31T00:00:00Z' }),
})

const WEEK_SECONDS = 7 * 24 * 3600
export const rotationInput = z
  .strictObject({
    grace_seconds: z
      .int()
      .min(0)
      .max(WEEK_SECONDS)
      .default(0)
      .describe('How long the old value stays valid, at most a week. Absent: it ends at once.'),
    expires_at: expiry.nullish().describe('When the token expires; null: never. Absent: unchanged.'),
  })
  .nullish()

const tokenWire = z
  .object({
    id: z.string().describe('The id.'),
    name: z.string().describe('What the token is for.'),
    role: z.enum(ROLES).describe('Its role.'),
    created_by: z.string().describe('Who created it.'),
    created_at: z.string().describe('When it was created.'),
    expires_at: z.string().nullable().describe('When it expires.'),
    revoked_at: z.string().nullable().describe('When it was revoked.'),
    rotated_at: z.string().nullable().describe('When it last got a new value.'),
    previous_until: z
      .string()
      .nullable()
      .describe('Until when the previous value is valid; null: it is not.'),
    last_used_at: z.string().nullable().describe('When it was last used, to the minute.'),
    last_used_from: z.string().nullable().describe('The address that it was last used from.'),
  })
  .meta({ id: 'Token' })
export const tokenPage = pageSchema(tokenWire)
export const newTokenWire = tokenWire.extend({
  token: z.string().describe('The value. It is shown once and not stored.'),
})

export function tokenToWire(token: Token) {
  return toWire(tokenWire, token)
}

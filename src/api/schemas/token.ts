import { z } from 'zod'
import { ROLES, type Token } from '../../model/access.js'
import { pageOf } from './page.js'
import { line } from './text.js'

/** PostgreSQL and people both end long before; a year with five digits is a slip of the hand. */
const expiry = z.iso.datetime({ offset: true, error: 'must be a time such as 2030-01-31T00:00:00Z' })

export const tokenInput = z.strictObject({
  name: line(200).describe('What it is for.').meta({ example: 'airflow' }),
  role: z.enum(ROLES).describe('viewer reads; operator also runs; admin also changes.'),
  expires_at: expiry
    .nullish()
    .describe('When it ends. Absent: never.')
    .meta({ example: '2030-01-31T00:00:00Z' }),
})

const tokenWire = z
  .object({
    id: z.string().describe('The id, for revoking it.'),
    name: z.string().describe('What it is for.'),
    role: z.enum(ROLES).describe('What it may do.'),
    created_by: z.string().describe('Who made it.'),
    created_at: z.string().describe('When it was made.'),
    expires_at: z.string().nullable().describe('When it ends.'),
    revoked_at: z.string().nullable().describe('When it was revoked.'),
    last_used_at: z.string().nullable().describe('When it was last used, to the minute.'),
  })
  .meta({ id: 'Token' })
export const tokenPage = pageOf(tokenWire)
export const newTokenWire = tokenWire.extend({
  token: z.string().describe('The value. It is shown once and kept nowhere.'),
})

export function tokenToWire(token: Token): z.infer<typeof tokenWire> {
  return {
    id: token.id,
    name: token.name,
    role: token.role,
    created_by: token.createdBy,
    created_at: token.createdAt,
    expires_at: token.expiresAt,
    revoked_at: token.revokedAt,
    last_used_at: token.lastUsedAt,
  }
}

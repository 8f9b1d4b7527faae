import { z } from 'zod'
import { mayActAs, ROLES } from '../../model/access.js'
import type { ListedSession } from '../../ports/session-store.js'
import { ADMINISTRATOR_ID, type Caller } from '../auth/identity.js'
import type { PipelineRules } from '../services/pipeline-rules.js'
import { flag, pageQuery, pageSchema } from './page.js'
import { toWire } from './to-wire.js'

const secret = z.string().min(1).max(500)

export const signInBody = z
  .strictObject({
    token: secret.optional().describe('A token, or the value of VITRINA_API_TOKEN.'),
    code: secret.optional().describe('Instead of the token: a code from POST /session/code. It works once.'),
  })
  .refine((body) => (body.token === undefined) !== (body.code === undefined), 'give either token or code')

export const sessionWire = z
  .object({
    name: z.string().describe('The name of the token.'),
    token_id: z
      .string()
      .nullable()
      .describe("The id of the token; null: the administrator's, which has none."),
    role: z.enum(ROLES).describe('Its role.'),
    acts_as: z.array(z.enum(ROLES)).describe('Every role whose routes may be called.'),
    via: z
      .enum(['token', 'session'])
      .describe('How the request was authenticated: by a token or by a cookie.'),
    expires_at: z.string().nullable().describe('When the session or its token ends; null: never.'),
    version: z.string().describe('The version of the server.'),
    targets: z.array(z.string()).describe('The value of ALLOWED_TARGET_TABLES.'),
    sinks: z
      .array(
        z.object({
          prefix: z.string().describe('The prefix of its targets, such as es:.'),
          setting: z.string().describe('The setting with the allowed names.'),
          names: z.array(z.string()).describe('Names that may follow the prefix; * matches anything.'),
        }),
      )
      .describe('The kinds of targets besides tables.'),
    connections: z.array(z.string()).describe('The databases besides the main one, by name.'),
  })
  .meta({ id: 'Session' })

export const signedInWire = sessionWire.extend({
  csrf_token: z
    .string()
    .describe(
      'The key of the session: every request with the cookie sends it in the header X-CSRF. It is shown once.',
    ),
})

const everyone = flag()
  .optional()
  .describe('Sessions of all tokens, not only of the token of the caller. Requires the role admin.')
export const sessionsQuery = z.strictObject({ ...pageQuery, everyone })
export const endSessionsQuery = z.strictObject({
  everyone,
  keep_current: flag().optional().describe('Keeps the session of the caller and its related sessions.'),
})
export const endedWire = z.object({ ended: z.int().describe('The number of sessions that were ended.') })

const listedWire = z
  .object({
    id: z.string().describe('The id.'),
    current: z.boolean().describe('Whether this request was made with it.'),
    name: z.string().describe('The name of its token.'),
    token_id: z
      .string()
      .nullable()
      .describe("The id of the token; null: the administrator's, which has none."),
    role: z.enum(ROLES).describe('Its role.'),
    created_at: z.string().describe('When the browser signed in.'),
    last_used_at: z.string().describe('When it was last used, to the minute.'),
    expires_at: z.string().describe('When it ends at the latest; earlier after 12 hours without use.'),
    opened_from: z.string().nullable().describe('The address that the browser signed in from.'),
    user_agent: z.string().nullable().describe('The User-Agent of the browser.'),
    started_from: z
      .string()
      .nullable()
      .describe('The session whose code opened it, and with which it ends; null: a token opened it.'),
  })
  .meta({ id: 'BrowserSession' })
export const sessionsPage = pageSchema(listedWire)

export function listedToWire(session: ListedSession, current: string | null) {
  return toWire(listedWire, session, {
    current: session.id === current,
    name: session.token?.name ?? ADMINISTRATOR_ID,
    token_id: session.token?.id ?? null,
    role: session.token?.role ?? 'admin',
  })
}

export const codeWire = z.object({
  code: z.string().describe('Open /ui/#code=… with it. It works once.'),
  expires_at: z.string().describe('When it expires.'),
})

/** Information about this server for signed-in users. */
export interface ServerFacts {
  readonly version: string
  readonly rules: PipelineRules
}

export function sessionToWire(
  caller: Caller,
  { via, expiresAt }: { via: 'token' | 'session'; expiresAt: string | null },
  { version, rules }: ServerFacts,
): z.infer<typeof sessionWire> {
  const ends = [expiresAt, caller.expiresAt].filter((end) => end !== null).sort()
  return {
    name: caller.name,
    token_id: caller.id === ADMINISTRATOR_ID ? null : caller.id,
    role: caller.role,
    acts_as: ROLES.filter((role) => mayActAs(caller.role, role)),
    via,
    expires_at: ends[0] ?? null,
    version,
    targets: [...rules.targets.tables],
    sinks: rules.targets.kinds.map(({ prefix, allowList: { setting, names } }) => ({
      prefix,
      setting,
      names: [...names],
    })),
    connections: [...rules.connections].sort(),
  }
}

import { z } from 'zod'
import { OPENLINEAGE } from '../model/notification.js'
import { isDecodable, NOT_DECODABLE } from './decodable.js'

const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'must be an address that begins with https:// or http://',
})
const withUrl = (type: 'slack' | 'teams') => z.strictObject({ type: z.literal(type), url: httpUrl })
const mailbox = z
  .string()
  .regex(/^[^\r\n,;]*[^\s@\r\n,;]@[^\s@\r\n,;]+$/, 'must be an e-mail address such as etl@example.com')

const channel = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('webhook'),
      url: httpUrl,
      secret: z
        .string()
        .refine(
          isSecret,
          'must be 24 to 64 random bytes in base64, such as the output of "openssl rand -base64 32", optionally after whsec_',
        ),
    }),
    withUrl('slack'),
    withUrl('teams'),
    z.strictObject({
      type: z.literal('telegram'),
      token: z.string().regex(/^\d+:[\w-]+$/, 'must be the token of a bot, such as 123456:ABC-DEF'),
      chat_id: z.union([z.string().min(1), z.int()]).transform(String),
      url: httpUrl.default('https://api.telegram.org'),
    }),
    z.strictObject({
      type: z.literal('email'),
      url: z
        .url({ protocol: /^smtps?$/, error: 'must be smtp://… or smtps://…' })
        .refine(isDecodable, NOT_DECODABLE),
      from: mailbox,
      to: z.union([mailbox.transform((one) => [one]), z.array(mailbox).min(1).max(50)]),
    }),
  ],
  { error: 'must have a type: webhook, slack, teams, telegram or email' },
)

/** A place that notifications are sent to, with its secrets. */
export type ChannelConfig = z.output<typeof channel>

const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/
const VARIABLE = /^VITRINA_CHANNEL_(.+)$/

/** VITRINA_CHANNELS, and one more per VITRINA_CHANNEL_<NAME>. No message quotes a value: it may be a secret. */
export function readChannels(environment: NodeJS.ProcessEnv, mistakes: string[]): Map<string, ChannelConfig> {
  const found = new Map<string, unknown>()
  const all = parseJson(environment.VITRINA_CHANNELS || '{}')
  if (typeof all !== 'object' || all === null || Array.isArray(all))
    mistakes.push('VITRINA_CHANNELS must be a JSON object of name: {"type": …}')
  else for (const [name, value] of Object.entries(all)) found.set(name, value)
  for (const [variable, text] of Object.entries(environment)) {
    const name = VARIABLE.exec(variable)?.[1]
    if (name && text) found.set(name.toLowerCase(), parseJson(text))
  }
  return checked(found, mistakes)
}

function checked(found: ReadonlyMap<string, unknown>, mistakes: string[]): Map<string, ChannelConfig> {
  const channels = new Map<string, ChannelConfig>()
  for (const [name, value] of found) {
    if (!NAME.test(name))
      mistakes.push(`the channel name "${name.slice(0, 80)}" must consist of a-z, 0-9, _ and -`)
    if (name === OPENLINEAGE)
      mistakes.push(`the channel name "${OPENLINEAGE}" is reserved: set OPENLINEAGE_URL`)
    const parsed = channel.safeParse(value)
    if (parsed.success) channels.set(name, parsed.data)
    else mistakes.push(`the channel ${name.slice(0, 80)} is invalid: ${wordsOf(parsed.error)}`)
  }
  return channels
}

function wordsOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')} ${message}`))
    .join(', ')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** The scheme asks for 24 to 64 bytes: a shorter secret could be guessed. */
function isSecret(text: string): boolean {
  const encoded = text.replace(/^whsec_/, '')
  const { length } = Buffer.from(encoded, 'base64')
  return /^[A-Za-z0-9+/]+={0,2}$/.test(encoded) && length >= 24 && length <= 64
}

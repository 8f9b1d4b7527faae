import { z } from 'zod'
import { isDecodable, NOT_DECODABLE } from '../../config/decodable.js'
import { list, type SettingsOf, type SettingsTable } from '../../config/settings.js'
import type { SinkKind } from '../../ports/sink.js'

export const CLICKHOUSE_SETTINGS = {
  CLICKHOUSE_URL: {
    schema: z
      .string()
      .refine((text) => /^https?:\/\//.test(text) && URL.canParse(text), 'must be an http:// or https:// URL')
      .refine(isDecodable, NOT_DECODABLE)
      .optional(),
    means:
      'HTTP interface of ClickHouse for ch: targets, optionally with user, password and database. Unset: ch: targets are not available.',
    example: 'http://etl:secret@clickhouse:8123/analytics',
    isSecret: true,
  },
  CLICKHOUSE_USERNAME: {
    schema: z.string().optional(),
    means: 'ClickHouse user. Unset: the user in CLICKHOUSE_URL, or default.',
    example: 'etl',
  },
  CLICKHOUSE_PASSWORD: {
    schema: z.string().optional(),
    means: 'Password of that user. Unset: the password in CLICKHOUSE_URL, or none.',
    example: 'secret',
    isSecret: true,
  },
  CLICKHOUSE_DATABASE: {
    schema: z.string().min(1).optional(),
    means:
      'Database of targets that do not name one, such as ch:film_dim. Unset: the path of CLICKHOUSE_URL, or default.',
    example: 'analytics',
  },
  ALLOWED_CH_TABLES: {
    schema: z.string().default('analytics.*').transform(list),
    means:
      'ClickHouse marts that pipelines may write, as named in the target after ch: exact names or patterns with *.',
    example: 'analytics.*,film_dim',
  },
} as const satisfies SettingsTable

export type ClickHouseSettings = SettingsOf<typeof CLICKHOUSE_SETTINGS>

/** Address of the server and credentials. */
export interface ClickHouseAddress {
  /** Without user and password, so that it can be shown. */
  readonly origin: string
  readonly username: string
  readonly password: string
  /** Database of marts that name none. */
  readonly database: string
}

export function addressOf(settings: ClickHouseSettings): ClickHouseAddress | null {
  if (settings.CLICKHOUSE_URL === undefined) return null
  const url = new URL(settings.CLICKHOUSE_URL)
  return {
    origin: url.origin,
    username: settings.CLICKHOUSE_USERNAME ?? (decodeURIComponent(url.username) || 'default'),
    password: settings.CLICKHOUSE_PASSWORD ?? decodeURIComponent(url.password),
    database: settings.CLICKHOUSE_DATABASE ?? (decodeURIComponent(url.pathname.slice(1)) || 'default'),
  }
}

export interface ClickHouseOptions {
  /** Type of `numeric` without a precision: Decimal(76, 38) or String. */
  readonly numeric: 'decimal' | 'string'
  /** Look up which rows of a batch exist and skip unchanged ones. */
  readonly compare: boolean
}

const OPTIONS = z.strictObject({
  numeric: z.enum(['decimal', 'string'], 'must be decimal or string').default('decimal'),
  compare: z.boolean('must be true or false').default(true),
})

export const readOptions: SinkKind['readOptions'] = (raw) => {
  const parsed = OPTIONS.safeParse(raw)
  if (parsed.success) return { options: parsed.data }
  const problems = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((field) => ({ field, message: 'is not an option of ch: targets (numeric, compare)' }))
      : [{ field: issue.path.join('.'), message: issue.message }],
  )
  return { problems }
}

/** The server names a file after every table, and we append a suffix. */
const LONGEST = 150
const RESERVED = /^(system|information_schema)$/i

export function nameProblem(name: string): string | null {
  const parts = name.split('.')
  if (parts.length > 2 || !parts.every((part) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(part)))
    return 'must be table or database.table, in letters, digits and _'
  if (parts.some((part) => part.length > LONGEST)) return `must not be longer than ${LONGEST} characters`
  if (parts.length === 2 && RESERVED.test(parts[0]!)) return `must not be in the database ${parts[0]}`
  if (/__(data$|new_|keys_)/.test(parts.at(-1)!))
    return 'must not contain __data, __new_ or __keys_, which name the tables behind a mart'
  return null
}

/** `film_dim` and `analytics.film_dim` are the same table if analytics is the default database. */
export function otherNames(name: string, database: string | null): string[] {
  if (database === null) return []
  if (!name.includes('.')) return [`${database}.${name}`]
  return name.startsWith(`${database}.`) ? [name.slice(database.length + 1)] : []
}

import { isIP } from 'node:net'
import { z } from 'zod'
import { MAIN_CONNECTION } from '../model/connection.js'
import { VitrinaError } from '../model/errors.js'
import { LOGINS, type Login, loginPassword } from '../model/logins.js'
import { targetSchemas } from '../model/target.js'
import { withoutTrailingSlashes } from '../model/trailing-slashes.js'
import { type ChannelConfig, readChannels } from './channels.js'
import { databaseUrl } from './database-url.js'
import { readSparkProfiles, type SparkProfile } from './spark-profiles.js'

/** A comma-separated list. */
export const list = (value: string): string[] =>
  value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
/** A whole number. */
export const count = (least: number, most: number) => {
  const error = `must be a whole number from ${least} to ${most}`
  return z.coerce.number({ error }).int({ error }).min(least, { error }).max(most, { error })
}

/** One of a few words. */
const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `must be ${words.slice(0, -1).join(', ')} or ${words.at(-1)}` })

const TAG_ENTRY = { name: /^(\*|[a-z0-9][a-z0-9_-]{0,39})$/, what: 'tag:slots such as heavy:1,*:4' }
const CONNECTION_ENTRY = { name: /^[^:,\s]+$/, what: 'name:runs such as main:20,warehouse:5' }

/** Numbers by name: `heavy:1,*:4`. */
function slots({ name, what }: { name: RegExp; what: string }, least: number) {
  return z.string().transform((text, context): Readonly<Record<string, number>> => {
    const found: Record<string, number> = {}
    for (const entry of list(text)) {
      const [key = '', number = '', ...more] = entry.split(':').map((part) => part.trim())
      const value = /^\d{1,4}$/.test(number) ? Number(number) : -1
      if (more.length > 0 || !name.test(key) || value < least)
        context.addIssue({
          code: 'custom',
          message: `must be ${what}, separated by commas; "${entry}" is invalid: expected a name and a whole number from ${least} to 9999`,
        })
      else if (Object.hasOwn(found, key)) context.addIssue({ code: 'custom', message: `has "${key}" twice` })
      found[key] = value
    }
    return found
  })
}

const networkOrAddress = z
  .string()
  .refine(isNetwork, { error: 'must be addresses or networks such as 10.0.0.0/8, separated by commas' })

/** A runner is one thread: more runs at once only wait for each other. */
const MOST_CONCURRENCY = 64

function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const most = { 4: 32, 6: 128 }[isIP(address)]
  if (most === undefined || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most)
}

/** Settings with their defaults and meanings; a sink adds its own table. */
export type SettingsTable = Record<
  string,
  {
    schema: z.ZodType
    means: string
    example: string
    /** It may contain a password or a key: only whether it is set is shown. */
    isSecret?: true
  }
>
export type SettingsOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table]: z.output<Table[Name]['schema']>
}

/**
 * Every setting, its default and its meaning. `.env.sample` and docs/reference/settings.md are generated from this
 * table.
 */
export const SETTINGS = {
  DATABASE_URL: {
    schema: databaseUrl.optional(),
    means:
      "The administrator's connection, for migrations and roles. Unset: an embedded PostgreSQL in VITRINA_HOME.",
    example: 'postgres://postgres:secret@localhost:5432/cinema',
    isSecret: true,
  },
  VITRINA_RUNNER_DATABASE_URL: {
    schema: databaseUrl.optional(),
    means:
      'The connection that the runner writes with. "vitrina migrate" sets its password for vitrina_writer. Unset: DATABASE_URL with that login and a derived password.',
    example: 'postgres://vitrina_writer:secret@localhost:5432/cinema',
    isSecret: true,
  },
  VITRINA_API_DATABASE_URL: {
    schema: databaseUrl.optional(),
    means:
      'The connection of the API. "vitrina migrate" sets its password for vitrina_meta. Unset: DATABASE_URL with that login and a derived password.',
    example: 'postgres://vitrina_meta:secret@localhost:5432/cinema',
    isSecret: true,
  },
  VITRINA_READER_DATABASE_URL: {
    schema: databaseUrl.optional(),
    means:
      'The connection for source queries. "vitrina migrate" sets its password for vitrina_reader. Unset: DATABASE_URL with that login and a derived password.',
    example: 'postgres://vitrina_reader:secret@localhost:5432/cinema',
    isSecret: true,
  },
  VITRINA_CAPTURE_DATABASE_URL: {
    schema: databaseUrl.optional(),
    means:
      'The connection for capturing changes of the main database: a login with REPLICATION, without a pooler in between. Unset: VITRINA_READER_DATABASE_URL. For a named connection: VITRINA_CONNECTION_<NAME>_CAPTURE_URL.',
    example: 'postgres://capture:secret@localhost:5432/cinema',
    isSecret: true,
  },
  VITRINA_CONNECTIONS: {
    schema: z.string().optional(),
    means:
      'Other databases that a pipeline may read from or write to, as JSON: {"name": "postgres://…"}. VITRINA_CONNECTION_<NAME>_URL adds one.',
    example: '{"warehouse": "postgres://etl:secret@warehouse:5432/dwh"}',
    isSecret: true,
  },
  VITRINA_HOME: {
    schema: z.string().min(1).default('.vitrina'),
    means: 'Folder of the embedded PostgreSQL and of generated secrets.',
    example: '.vitrina',
  },
  VITRINA_HOST: {
    schema: z.string().min(1).default('127.0.0.1'),
    means: 'Address that the API listens on.',
    example: '127.0.0.1',
  },
  VITRINA_PORT: {
    schema: count(0, 65535).default(8080),
    means: 'Port that the API listens on. 0 selects a free one.',
    example: '8080',
  },
  VITRINA_API_TOKEN: {
    schema: z.string().min(16, 'must have at least 16 characters').optional(),
    means: "The administrator's bearer token. Unset: generated at the first start and printed once.",
    example: 'change-me-to-something-long',
    isSecret: true,
  },
  VITRINA_TRUSTED_PROXIES: {
    schema: z.string().default('').transform(list).pipe(z.array(networkOrAddress)),
    means:
      'Addresses and networks of proxies whose X-Forwarded-For is trusted, separated by commas. Unset: the address of a client is that of its connection.',
    example: '10.0.0.5,192.168.0.0/16',
  },
  VITRINA_URL: {
    schema: z
      .string()
      .regex(/^https?:\/\//, 'must begin with http:// or https://')
      .optional(),
    means: 'The server that commands use. Unset: that of the context, or http://VITRINA_HOST:VITRINA_PORT.',
    example: 'https://vitrina.example.com',
  },
  VITRINA_CONTEXT: {
    schema: z.string().min(1).optional(),
    means: 'The context that commands use. Unset: the one set by "vitrina context use".',
    example: 'production',
  },
  VITRINA_PUBLIC_URL: {
    schema: z
      .url({ protocol: /^https?$/, error: 'must begin with http:// or https://' })
      .transform(withoutTrailingSlashes)
      .optional(),
    means:
      'The address of the console for users, for links in notifications. Unset: VITRINA_URL, or http://VITRINA_HOST:VITRINA_PORT.',
    example: 'https://vitrina.example.com',
  },
  VITRINA_CHANNELS: {
    schema: z.string().optional(),
    means:
      'Channels for notifications, as JSON: {"name": {"type": "slack", "url": "https://…"}}. Types: webhook, slack, teams, telegram, email. VITRINA_CHANNEL_<NAME> adds one.',
    example: '{"ops": {"type": "slack", "url": "https://hooks.slack.com/services/…"}}',
    isSecret: true,
  },
  SPARK_PROFILES: {
    schema: z.string().optional(),
    means:
      'Spark clusters for pipelines with engine: spark, as JSON: {"name": {"master": "spark://…", "submit": "spark-submit", "conf": {"spark.executor.memory": "2g"}}}. submit and conf may be absent. For the API and the runners.',
    example: '{"cluster": {"master": "spark://spark:7077"}}',
    isSecret: true,
  },
  VITRINA_NOTIFY_ALLOWED_HOSTS: {
    schema: z
      .string()
      .transform((value) => list(value.toLowerCase()))
      .optional(),
    means:
      'Hosts that notifications may be sent to, separated by commas. Required for hosts on this machine or in a private network. Unset: the hosts of the channels, if their addresses are public.',
    example: 'hooks.slack.com,mail.internal',
  },
  VITRINA_NOTIFY_ATTEMPTS: {
    schema: count(1, 100).default(10),
    means: 'Attempts to deliver a notification before it is given up and listed as undelivered.',
    example: '10',
  },
  VITRINA_NOTIFY_RETRY_SECONDS: {
    schema: count(1, 3600).default(10),
    means: 'Wait after the first failed attempt to deliver a notification. It doubles with each further one.',
    example: '10',
  },
  OPENLINEAGE_URL: {
    schema: z.url({ protocol: /^https?$/, error: 'must begin with http:// or https://' }).optional(),
    means:
      'An OpenLineage receiver, such as Marquez: the start and the end of every run are reported to it. Without a path: /api/v1/lineage. VITRINA_NOTIFY_ALLOWED_HOSTS applies. Unset: nothing is reported.',
    example: 'http://marquez:5000',
  },
  OPENLINEAGE_API_KEY: {
    schema: z.string().min(1).optional(),
    means: 'The key that the OpenLineage receiver requires, sent as a bearer token.',
    example: 'f38d2189-c603-4b46-bdea-e573a3b5a7d5',
    isSecret: true,
  },
  ALLOWED_SOURCE_SCHEMAS: {
    schema: z.string().default('content,ugc').transform(list),
    means: 'Schemas that a source query may read.',
    example: 'content,ugc',
  },
  ALLOWED_TARGET_TABLES: {
    schema: z
      .string()
      .default('analytics.*')
      .transform(list)
      .refine((names) => !targetSchemas({ tables: names }).includes('etl'), {
        error: 'must not contain the schema etl, which holds the tables of Vitrina itself',
      }),
    means:
      'Tables that a pipeline may write: exact names or schema.*, quoted as in SQL. Names without quotes are not folded to lower case.',
    example: 'analytics.*',
  },
  API_RATE_LIMIT: {
    schema: count(1, 10_000_000).default(6000),
    means: 'Requests per minute for each token.',
    example: '6000',
  },
  API_MAX_CHECKS: {
    schema: count(1, 1_000).default(12),
    means:
      'Validations, previews, comparisons, requests for lineage or the order of pipelines, and reads of marts that run at the same time. Each uses up to three database sessions. Row-by-row comparisons and evaluations of checks have the same number of separate slots, and so have changes of pipelines.',
    example: '12',
  },
  API_MAX_CHECKS_PER_CALLER: {
    schema: count(1, 1_000).default(6),
    means: 'Slots of API_MAX_CHECKS that one token may use at the same time.',
    example: '6',
  },
  API_MAX_TASK_HOSTS: {
    schema: count(1, 1_000).default(2),
    means: 'Checks that run functions of a task plan at the same time, each in its own processes.',
    example: '2',
  },
  API_MAX_STREAMS: {
    schema: count(1, 100_000).default(400),
    means:
      'Event streams (GET /events) open at the same time; each open tab of the console uses one. The same number of requests may wait for runs (?wait=30s).',
    example: '400',
  },
  API_MAX_STREAMS_PER_CALLER: {
    schema: count(1, 100_000).default(100),
    means: 'Slots of API_MAX_STREAMS that one token may use at the same time.',
    example: '100',
  },
  METRICS_MAX_PIPELINES: {
    schema: count(0, 1_000_000).default(500),
    means:
      'Pipelines with their own series in the metrics of API and runner, the oldest first; the others share the label pipeline="(other)". GET /metrics?pipelines=all returns all of them.',
    example: '500',
  },
  RUN_LOG_MAX_LINES: {
    schema: count(10, 10_000_000).default(20_000),
    means:
      'Log lines of one run that are stored in the database, from all runners that execute it; after that only warnings and errors, up to 1,000. The log of the runner has all of them.',
    example: '20000',
  },
  VITRINA_LOGIN_SESSIONS: {
    schema: count(5, 100_000).optional(),
    means:
      'Connection limit of each of the three logins, set by "vitrina migrate"; by default four fifths of what the server accepts. A runner uses up to 10 + 2 × RUNNER_CONCURRENCY.',
    example: '80',
  },
  EVENTS_RETENTION_HOURS: {
    schema: count(1, 8760).default(24),
    means: 'How long events can be replayed by their number.',
    example: '24',
  },
  RUNS_RETENTION_DAYS: {
    schema: count(1, 36_500).default(90),
    means:
      'How long ended runs are kept, with their batches and their log; also settled notifications and results of checks.',
    example: '90',
  },
  QUARANTINE_RETENTION_DAYS: {
    schema: count(1, 36_500).default(30),
    means: 'How long replayed and discarded quarantined rows stay listed, without their values.',
    example: '30',
  },
  RUNNER_POLL_INTERVAL_MS: {
    schema: count(10, 600_000).default(1000),
    means: 'How often a runner polls for work; notifications wake it earlier.',
    example: '1000',
  },
  RUNNER_CONCURRENCY: {
    schema: count(1, MOST_CONCURRENCY).default(4),
    means:
      'Pipelines that one runner runs at the same time. With RUNNER_TAGS the default is the sum of its slots.',
    example: '4',
  },
  RUNNER_TAGS: {
    schema: slots(TAG_ENTRY, 0).optional(),
    means:
      'Runs at the same time by tag, as tag:slots separated by commas; * is for pipelines without a named tag, 0 slots exclude a tag. A run uses a slot of each named tag that its pipeline has. Unset: every pipeline.',
    example: 'heavy:1,reports:2,*:4',
  },
  CONNECTION_LIMITS: {
    schema: slots(CONNECTION_ENTRY, 1).optional(),
    means:
      'Runs at the same time by connection over all runners, as name:runs separated by commas; main is the main database. A run counts for the connection that it reads from and for the one that it writes to, and if it is cut into parts, once for each part in progress. Set the same on every runner. Unset: no limits.',
    example: 'main:20,warehouse:5',
  },
  RUNNER_LEASE_SECONDS: {
    schema: count(1, 3600).default(30),
    means: 'How long a runner that does not respond keeps its pipelines.',
    example: '30',
  },
  VITRINA_WAL_KEEP_MB: {
    schema: count(16, 10_000_000).default(4096),
    means:
      'How much WAL a source may keep for the replication slot of Vitrina. Above it Vitrina drops the slot, and each pipeline of that source compares its whole mart. The change log keeps the same amount.',
    example: '4096',
  },
  RUNNER_METRICS_PORT: {
    schema: count(0, 65535).optional(),
    means: 'Port for the metrics and the health of a runner. Unset: not served.',
    example: '9464',
  },
  RUNNER_METRICS_HOST: {
    schema: z.string().default('127.0.0.1'),
    means: 'Address for the metrics and the health of a runner. They require no authentication.',
    example: '0.0.0.0',
  },
  VITRINA_PYTHON: {
    schema: z.string().min(1).default('python3'),
    means: 'The interpreter of Python tasks, 3.9 or newer.',
    example: '/opt/venv/bin/python',
  },
  VITRINA_PYTHON_TASKS: {
    schema: z.string().min(1).default('pipelines/python'),
    means: 'Folders with the files that register Python tasks, separated by commas.',
    example: 'pipelines/python',
  },
  VITRINA_TYPESCRIPT_TASKS: {
    schema: z.string().min(1).default('pipelines/typescript'),
    means: 'Folders with the files that register TypeScript and JavaScript tasks, separated by commas.',
    example: 'pipelines/typescript',
  },
  VITRINA_TASK_TIMEOUT_SECONDS: {
    schema: count(1, 86_400).default(300),
    means: 'How long the tasks of a pipeline may work on one batch before they are killed.',
    example: '300',
  },
  VITRINA_TASK_MEMORY_MB: {
    schema: count(64, 1_048_576).default(1024),
    means: 'How much memory the tasks of one run may use.',
    example: '1024',
  },
  VITRINA_TASK_ISOLATION: {
    schema: oneOf(['auto', 'required', 'off']).default('auto'),
    means:
      'Whether task functions run in their own user namespace, where they cannot read the memory of other processes. auto: if Linux allows it and unshare is installed.',
    example: 'auto',
  },
  VITRINA_TASK_USER: {
    schema: z.string().min(1).optional(),
    means:
      'Account that task functions run as, by name or as uid:gid; only for a process of root. Unset: that of the process.',
    example: '65534:65534',
  },
  LOG_LEVEL: {
    schema: oneOf(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
    means: 'The minimum level of logged lines.',
    example: 'info',
  },
  LOG_FORMAT: {
    schema: oneOf(['json', 'pretty']).optional(),
    means: 'One JSON object per line, or lines for people. Unset: pretty on a terminal, else json.',
    example: 'json',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: z.url({ protocol: /^https?$/, error: 'must begin with http:// or https://' }).optional(),
    means:
      'An OpenTelemetry collector that receives traces as OTLP over HTTP. Unset: nothing is traced. Other OTEL_* variables are respected too.',
    example: 'http://localhost:4318',
  },
} as const satisfies SettingsTable

type Name = keyof typeof SETTINGS
export type Settings = SettingsOf<typeof SETTINGS> & {
  /** Named databases besides the main one, by lower-case name. */
  readonly connections: ReadonlyMap<string, string>
  /** Where notifications are sent to, by name. */
  readonly channels: ReadonlyMap<string, ChannelConfig>
  /** Spark clusters, by name. */
  readonly sparkProfiles: ReadonlyMap<string, SparkProfile>
  /** The environment itself: sinks and transforms read their own settings from it. */
  readonly environment: NodeJS.ProcessEnv
}

/** Reads the environment once. All mistakes are reported together. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const mistakes: string[] = []
  const values = parseTable(SETTINGS, environment, mistakes)
  const connections = readConnections(environment, mistakes)
  const channels = readChannels(environment, mistakes)
  const sparkProfiles = readSparkProfiles(environment, mistakes)
  requireNone(mistakes)
  return { ...values, connections, channels, sparkProfiles, environment }
}

/** The settings of one table. */
export function readTable<Table extends SettingsTable>(
  table: Table,
  environment: NodeJS.ProcessEnv,
): SettingsOf<Table> {
  const mistakes: string[] = []
  const values = parseTable(table, environment, mistakes)
  requireNone(mistakes)
  return values
}

function parseTable<Table extends SettingsTable>(
  table: Table,
  environment: NodeJS.ProcessEnv,
  mistakes: string[],
): SettingsOf<Table> {
  const values: Record<string, unknown> = {}
  for (const [name, { schema }] of Object.entries(table)) {
    // Compose files and shells set an empty variable to mean "not set".
    const parsed = schema.safeParse(environment[name] || undefined)
    if (parsed.success) values[name] = parsed.data
    else mistakes.push(`${name} ${distinctMessages(parsed.error)}`)
  }
  return values as SettingsOf<Table>
}

function distinctMessages({ issues }: z.ZodError): string {
  return [...new Set(issues.map(({ message }) => message))].join(', ')
}

function requireNone(mistakes: readonly string[]): void {
  if (mistakes.length === 0) return
  throw new VitrinaError(
    'SETTING_INVALID',
    mistakes.join('; '),
    'Correct the environment or .env; .env.sample explains every setting.',
  )
}

function readConnections(environment: NodeJS.ProcessEnv, mistakes: string[]): Map<string, string> {
  const parsed = parseConnections(environment.VITRINA_CONNECTIONS || '{}')
  if (parsed === null) mistakes.push('VITRINA_CONNECTIONS must be a JSON object of name: "postgres://…"')
  const found = new Map(Object.entries(parsed ?? {}))
  for (const [variable, url] of Object.entries(environment)) {
    const name = /^VITRINA_CONNECTION_(.+)_URL$/.exec(variable)?.[1]
    if (name && url) found.set(name.toLowerCase(), url)
  }
  for (const [name, url] of found) {
    const { data, error } = databaseUrl.safeParse(url)
    if (error) mistakes.push(`the URL of connection ${name} ${error.issues[0]!.message}`)
    else found.set(name, data)
  }
  return found
}

function parseConnections(text: string): Record<string, string> | null {
  try {
    const parsed = z.record(z.string(), z.string()).safeParse(JSON.parse(text))
    return parsed.success ? parsed.data : null
  } catch {
    return null
  }
}

const LOGIN_VARIABLES = {
  reader: 'VITRINA_READER_DATABASE_URL',
  writer: 'VITRINA_RUNNER_DATABASE_URL',
  meta: 'VITRINA_API_DATABASE_URL',
} as const satisfies Record<Login, Name>

/**
 * Passwords that an operator chose for the three logins: those in their own URLs. `vitrina migrate` sets them, so
 * that API and runner can be started without the administrator's URL, from which all others are derived.
 */
export function chosenPasswords(settings: Settings): Partial<Record<Login, string>> {
  const chosen: Partial<Record<Login, string>> = {}
  for (const login of Object.keys(LOGINS) as Login[]) {
    const password = ownPassword(settings[LOGIN_VARIABLES[login]], login)
    if (password !== null) chosen[login] = password
  }
  return chosen
}

/** Null: no URL, one without a password, or one with another login. */
function ownPassword(url: string | undefined, login: Login): string | null {
  if (url === undefined) return null
  const { username, password } = new URL(url)
  return decodeURIComponent(username) === LOGINS[login] && password !== ''
    ? decodeURIComponent(password)
    : null
}

/** The URL that changes of a source are captured with; null: the connection is not configured. */
export function captureUrl(settings: Settings, connection: string): string | null {
  if (connection === MAIN_CONNECTION)
    return settings.VITRINA_CAPTURE_DATABASE_URL ?? loginUrl(settings, 'reader')
  const { connections } = settings
  return connections.get(`${connection}_capture`) ?? connections.get(connection) ?? null
}

/** Pipelines that a runner runs at the same time. */
export function runnerConcurrency({ RUNNER_CONCURRENCY, RUNNER_TAGS, environment }: Settings): number {
  if (RUNNER_TAGS === undefined || environment.RUNNER_CONCURRENCY) return RUNNER_CONCURRENCY
  const sum = Object.values(RUNNER_TAGS).reduce((total, slots) => total + slots, 0)
  return Math.min(MOST_CONCURRENCY, Math.max(1, sum))
}

/** Limits of connections that exist: a misspelled name would limit nothing, and look as if it did. */
export function connectionLimits({
  CONNECTION_LIMITS = {},
  connections,
}: Settings): Readonly<Record<string, number>> {
  const unknown = Object.keys(CONNECTION_LIMITS).filter(
    (name) => name.toLowerCase() !== MAIN_CONNECTION && !connections.has(name.toLowerCase()),
  )
  if (unknown.length === 0) return CONNECTION_LIMITS
  throw new VitrinaError(
    'SETTING_INVALID',
    `CONNECTION_LIMITS names ${unknown.join(', ')}, but the connections are ${[MAIN_CONNECTION, ...connections.keys()].join(', ')}.`,
    'Correct the name, or set VITRINA_CONNECTION_<NAME>_URL.',
  )
}

/** The connection URL of one of the three logins to the main database. */
export function loginUrl(settings: Settings, login: Login): string {
  const explicit = settings[LOGIN_VARIABLES[login]]
  if (explicit !== undefined) return explicit
  if (settings.DATABASE_URL === undefined) {
    throw new VitrinaError(
      'SETTING_INVALID',
      `Neither ${LOGIN_VARIABLES[login]} nor DATABASE_URL is set.`,
      `Set ${LOGIN_VARIABLES[login]}, or DATABASE_URL to derive it, or start everything with "vitrina up".`,
    )
  }
  const url = new URL(settings.DATABASE_URL)
  url.username = LOGINS[login]
  url.password = loginPassword(settings.DATABASE_URL, login)
  return url.href
}

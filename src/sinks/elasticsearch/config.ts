import { z } from 'zod'
import { isDecodable, NOT_DECODABLE } from '../../config/decodable.js'
import { count, list, type SettingsOf, type SettingsTable } from '../../config/settings.js'

/** The message never repeats the value, which may contain a password. */
const addresses = z
  .string()
  .transform(list)
  .refine(
    (urls) => urls.length > 0 && urls.every(isAddress),
    'must be http:// or https:// addresses, separated by commas',
  )
  .refine((urls) => urls.every(isDecodable), NOT_DECODABLE)
  .refine((urls) => new Set(urls.map(schemeOf)).size < 2, 'must be all http:// or all https://')

function isAddress(text: string): boolean {
  return schemeOf(text) !== undefined && URL.canParse(text)
}

function schemeOf(text: string): string | undefined {
  return /^https?:(?=\/\/)/.exec(text)?.[0]
}

export const ELASTICSEARCH_SETTINGS = {
  ELASTICSEARCH_URL: {
    schema: addresses.optional(),
    means:
      'Elasticsearch or OpenSearch, for targets that begin with ES_TARGET_PREFIX. Several nodes of one cluster are separated by commas.',
    example: 'https://es1:9200,https://es2:9200',
    isSecret: true,
  },
  ELASTICSEARCH_API_KEY: {
    schema: z.string().min(1).optional(),
    means: 'API key for Elasticsearch, in its encoded form. Takes precedence over user and password.',
    example: 'VnVhQ2ZHY0JDZGJrUW0tZTVhT3g6dWkybHAyYXhUTm1zeWFrdzl0dk5udw==',
    isSecret: true,
  },
  ELASTICSEARCH_USERNAME: {
    schema: z.string().min(1).optional(),
    means: 'Elasticsearch user. Unset: the user in ELASTICSEARCH_URL, if any.',
    example: 'vitrina',
  },
  ELASTICSEARCH_PASSWORD: {
    schema: z.string().min(1).optional(),
    means: 'Password of ELASTICSEARCH_USERNAME.',
    example: 'secret',
    isSecret: true,
  },
  ELASTICSEARCH_CA_FILE: {
    schema: z.string().min(1).optional(),
    means:
      "PEM file with the certificate authority that signed Elasticsearch's certificate. Unset: the authorities trusted by Node.js.",
    example: '/etc/vitrina/es-ca.crt',
  },
  ELASTICSEARCH_BULK_MIB: {
    schema: count(1, 95).default(5),
    means: 'Maximum size of a bulk request, in MiB. A larger document is sent alone.',
    example: '5',
  },
  ELASTICSEARCH_PARALLEL_BULKS: {
    // Each further one makes the server write more and smaller segments: 77 µs of server time for each document with one,
    // 96 with three.
    schema: count(1, 32).default(2),
    means: 'Bulk requests that one pipeline sends in parallel.',
    example: '4',
  },
  ELASTICSEARCH_RETRY_SECONDS: {
    schema: count(0, 3600).default(60),
    means:
      'How long to retry a write that Elasticsearch cannot accept at the moment (overloaded, restarting) before the attempt fails.',
    example: '60',
  },
  ES_TARGET_PREFIX: {
    schema: z.string().min(1).default('es:'),
    means: 'Prefix of targets in Elasticsearch.',
    example: 'es:',
  },
  ALLOWED_ES_INDEXES: {
    schema: z.string().default('film_dim,film_rating_agg,genre_dim').transform(list),
    means: 'Indexes a pipeline may write: exact names, or patterns with *.',
    example: 'film_dim,mart_*',
  },
} as const satisfies SettingsTable

export type ElasticsearchSettings = SettingsOf<typeof ELASTICSEARCH_SETTINGS>

const optionsSchema = z.strictObject({
  /** `update` keeps fields written by others; `index` writes whole documents and rejects late writers. */
  write_mode: z.enum(['update', 'index']).default('update'),
  shards: z.number().int().min(1).max(1024).optional(),
  replicas: z.number().int().min(0).max(100).optional(),
})

export type ElasticsearchOptions = z.output<typeof optionsSchema>

export function readOptions(raw: Readonly<Record<string, unknown>>) {
  const parsed = optionsSchema.safeParse(raw)
  if (parsed.success) return { options: parsed.data }
  const problems = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ field: key, message: 'is not an option of Elasticsearch targets' }))
      : [{ field: issue.path.join('.'), message: issue.message }],
  )
  return { problems }
}

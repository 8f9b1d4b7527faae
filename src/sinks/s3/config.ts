import { z } from 'zod'
import { list, type SettingsOf, type SettingsTable } from '../../config/settings.js'

export const S3_SETTINGS = {
  S3_BUCKET: {
    schema: z.string().min(3).optional(),
    means: 'Bucket of s3: targets. Unset: such targets fail validation.',
    example: 'marts-of-the-cinema',
  },
  S3_ENDPOINT: {
    schema: z
      .string()
      .refine(
        (text) => /^https?:\/\//.test(text) && URL.canParse(text),
        'must be an address that begins with http:// or https://',
      )
      .optional(),
    means: 'Address of an S3-compatible server, such as MinIO or SeaweedFS. Unset: AWS.',
    example: 'http://localhost:9000',
  },
  S3_REGION: {
    schema: z.string().min(1).optional(),
    means: 'Region of the bucket. Unset: AWS_REGION or the AWS profile; us-east-1 with S3_ENDPOINT.',
    example: 'eu-central-1',
  },
  S3_ACCESS_KEY_ID: {
    schema: z.string().min(1).optional(),
    means:
      'Access key for the bucket. Unset: the default AWS credential chain (environment, profile, instance role).',
    example: 'AKIAIOSFODNN7EXAMPLE',
    isSecret: true,
  },
  S3_SECRET_ACCESS_KEY: {
    schema: z.string().min(1).optional(),
    means: 'Secret key that belongs to S3_ACCESS_KEY_ID.',
    example: 'change-me',
    isSecret: true,
  },
  S3_FORCE_PATH_STYLE: {
    schema: z.enum(['true', 'false']).optional(),
    means: 'Whether to put the bucket into the path instead of the host name. Unset: only with S3_ENDPOINT.',
    example: 'true',
  },
  ALLOWED_S3_PREFIXES: {
    schema: z.string().default('marts/*').transform(list),
    means: 'Prefixes in the bucket that s3: targets may use: exact names or patterns with *.',
    example: 'marts/*',
  },
} as const satisfies SettingsTable

export type S3Settings = SettingsOf<typeof S3_SETTINGS>

const options = z.strictObject({
  partition_by: z.string().min(1).nullable().default(null),
  compression: z.enum(['snappy', 'gzip', 'uncompressed']).default('snappy'),
  file_size_mb: z.number().min(0).max(512).default(32),
  keep_hours: z.number().min(1).max(8760).default(24),
})

/** target_options of a pipeline with an s3: target. */
export type S3Options = z.output<typeof options>

export function readOptions(raw: Readonly<Record<string, unknown>>) {
  const parsed = options.safeParse(raw)
  if (parsed.success) return { options: parsed.data }
  const problems = parsed.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((field) => ({ field, message: 'is not an option of s3: targets' }))
      : [{ field: issue.path.join('.'), message: issue.message }],
  )
  return { problems }
}

const LONGEST_PREFIX = 400
/** Folders of a mart below its prefix; a mart inside one of them would be removed by the cleanup. */
const OWN_FOLDERS = ['data', 'removed']

export function nameProblem(name: string): string | null {
  const segments = name.split('/')
  const odd = segments.find((segment) => !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(segment))
  if (odd !== undefined)
    return `"${odd}" is not a valid part of a prefix: letters, digits, ".", "_" and "-", beginning with a letter or a digit, parts separated by one "/".`
  const own = segments.slice(1).find((segment) => OWN_FOLDERS.includes(segment))
  if (own !== undefined) return `"${own}" is the name of a folder inside a mart.`
  return name.length > LONGEST_PREFIX ? `It is longer than ${LONGEST_PREFIX} characters.` : null
}

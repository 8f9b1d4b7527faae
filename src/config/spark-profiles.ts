import { z } from 'zod'
import { PROFILE_PATTERN } from '../model/engine.js'

const CLUSTER_MODE = 'spark.submit.deployMode'

const text = z.string().min(1)
const profile = z.strictObject({
  submit: text.default('spark-submit'),
  master: text,
  conf: z
    .record(z.string(), z.union([z.string(), z.number(), z.boolean()]).transform(String))
    .refine((conf) => Object.keys(conf).every((name) => /^spark\.[\w.-]+$/.test(name)), {
      error: 'must have names such as spark.executor.memory',
    })
    // The runner ends a run by ending the driver, and gives it its secrets: both work for its own child only.
    .refine((conf) => (conf[CLUSTER_MODE] ?? 'client') === 'client', {
      error: `must not set ${CLUSTER_MODE}: the runner starts the driver as its own child (client mode)`,
    })
    .default({}),
})

/** A Spark cluster: how jobs are submitted to it. */
export type SparkProfile = z.output<typeof profile>

/** SPARK_PROFILES. No message quotes a value: it may be a secret. */
export function readSparkProfiles(
  { SPARK_PROFILES }: NodeJS.ProcessEnv,
  mistakes: string[],
): Map<string, SparkProfile> {
  const profiles = new Map<string, SparkProfile>()
  const all = parseJson(SPARK_PROFILES || '{}')
  if (typeof all !== 'object' || all === null || Array.isArray(all)) {
    mistakes.push('SPARK_PROFILES must be a JSON object of name: {"master": "spark://…"}')
    return profiles
  }
  for (const [name, value] of Object.entries(all)) {
    const parsed = profile.safeParse(value)
    if (!PROFILE_PATTERN.test(name))
      mistakes.push(
        `SPARK_PROFILES: the profile name "${name.slice(0, 80)}" must consist of a-z, 0-9, _ and -`,
      )
    else if (parsed.success) profiles.set(name, parsed.data)
    else mistakes.push(`SPARK_PROFILES: profile ${name} is invalid: ${wordsOf(parsed.error)}`)
  }
  return profiles
}

function wordsOf({ issues }: z.ZodError): string {
  return issues
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')} ${message}`))
    .join(', ')
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return null
  }
}

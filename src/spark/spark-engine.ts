import { fileURLToPath } from 'node:url'
import type { SparkProfile } from '../config/spark-profiles.js'
import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import type { Pipeline } from '../model/pipeline.js'
import type { PartEngine, Submission } from '../ports/part-engine.js'
import { findProgram } from './find-program.js'
import { SparkSubmission } from './spark-submission.js'

/** Two folders up, both from src/ and from dist/. */
const PROGRAM = fileURLToPath(new URL('../../python/vitrina_spark.py', import.meta.url))

export interface SparkSettings {
  readonly profiles: ReadonlyMap<string, SparkProfile>
  /** Where programs are looked for, and what Spark reads its own settings from. */
  readonly environment: NodeJS.ProcessEnv
}

export interface SparkAccess {
  /** The main database, with the login that writes. */
  readonly metaUrl: string
  readonly sourceUrl: (pipeline: Pipeline) => string
  readonly targetUrl: (pipeline: Pipeline) => string
  readonly leaseSeconds: number
}

/** Configuration that must not appear on a command line. */
const SECRET =
  /secret|pass(?:word|wd|phrase)?$|pass(?:word|wd|phrase)|token|credential|private|access[._-]?key|account[._-]?key|api[._-]?key|[._-]key$|[._-]sas(?:[._-]|$)/i
/** A value with a password of its own: that of an address, or an option of Java such as -Dtrust.password=… */
const SECRET_VALUE = /:\/\/[^/\s:@]*:[^/\s]*@|(?:pass(?:word|wd|phrase)?|secret|token)=/i
/** What Spark, Hadoop and Java read; nothing of ours. */
const PASSED_ON =
  /^(PATH|HOME|USER|LOGNAME|TMPDIR|LANG|LC_.*|TZ|LD_LIBRARY_PATH|(JAVA|SPARK|PYSPARK|HADOOP|YARN|KRB5|SSL|VITRINA_TEST)_.*|KRB5CCNAME|KUBECONFIG|KUBERNETES_.*)$/

/** Submits runs to Spark: it schedules parts, and executes them with the package python/vitrina. */
export class SparkEngine implements PartEngine {
  readonly #settings: SparkSettings
  readonly #access: SparkAccess | null

  /** Without `access` it can only check whether a pipeline could be submitted. */
  constructor(settings: SparkSettings, access: SparkAccess | null = null) {
    this.#settings = settings
    this.#access = access
  }

  async require(pipeline: Pick<Pipeline, 'engine' | 'engineOptions'>): Promise<void> {
    if (pipeline.engine === 'spark') await this.#program(this.#profile(pipeline).profile)
  }

  async submit(claim: Claim): Promise<Submission> {
    const { pipeline, runId } = claim
    const access = this.#access!
    const { name, profile } = this.#profile(pipeline)
    const program = await this.#program(profile)
    const [secret, open] = split(profile.conf)
    const job = {
      run: runId,
      lease: access.leaseSeconds,
      meta: access.metaUrl,
      source: access.sourceUrl(pipeline),
      target: access.targetUrl(pipeline),
      conf: secret,
    }
    const args = [
      '--master',
      profile.master,
      '--deploy-mode',
      'client',
      '--name',
      `vitrina ${pipeline.name}`,
      ...Object.entries(open).flatMap(([key, value]) => ['--conf', `${key}=${value}`]),
      PROGRAM,
    ]
    return new SparkSubmission({
      profile: name,
      command: [program, ...args],
      env: { ...this.#passedOn(), VITRINA_SPARK_JOB: JSON.stringify(job) },
      secrets: [
        ...[job.meta, job.source, job.target].flatMap(passwordOf),
        ...Object.values(secret).filter(isHidden),
      ],
    })
  }

  #profile({ engineOptions }: Pick<Pipeline, 'engineOptions'>): { name: string; profile: SparkProfile } {
    const { profiles } = this.#settings
    const names = [...profiles.keys()]
    const name = engineOptions.profile ?? (names.length === 1 ? names[0]! : null)
    const profile = name === null ? undefined : profiles.get(name)
    if (name !== null && profile !== undefined) return { name, profile }
    const known = names.join(', ') || 'none'
    throw new VitrinaError(
      'ENGINE_UNAVAILABLE',
      name === null
        ? `engine_options names no profile of Spark; configured: ${known}.`
        : `The Spark profile "${name}" is not configured; configured: ${known}.`,
      'Set engine_options.profile to a configured profile, or add it to SPARK_PROFILES for the API and the runners.',
      { field: 'engine_options' },
    )
  }

  async #program({ submit }: SparkProfile): Promise<string> {
    const found = await findProgram(submit, this.#settings.environment.PATH ?? '')
    if (found !== null) return found
    throw new VitrinaError(
      'ENGINE_UNAVAILABLE',
      `The program "${submit}" of the Spark profile was not found on this machine, or cannot be executed.`,
      'Install Spark for the API and the runners, or set submit in SPARK_PROFILES to the full path of spark-submit.',
      { field: 'engine_options' },
    )
  }

  #passedOn(): NodeJS.ProcessEnv {
    const { environment } = this.#settings
    const kept = Object.entries(environment).filter(
      ([name]) => PASSED_ON.test(name) && name !== 'SPARK_PROFILES',
    )
    return Object.fromEntries(kept)
  }
}

type Conf = Readonly<Record<string, string>>

function split(conf: Conf): [secret: Conf, open: Conf] {
  const entries = Object.entries(conf)
  return [
    Object.fromEntries(entries.filter(isSecret)),
    Object.fromEntries(entries.filter((entry) => !isSecret(entry))),
  ]
}

function isSecret([name, value]: [string, string]): boolean {
  return SECRET.test(name) || SECRET_VALUE.test(value)
}

/** "true" and "128" are values of settings with such names too, and words of any other text. */
function isHidden(value: string): boolean {
  return value.length >= 8
}

function passwordOf(url: string): string[] {
  const { password } = new URL(url)
  return password === '' ? [] : [password, decodeURIComponent(password)]
}

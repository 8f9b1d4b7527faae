import { loginUrl } from '../config/settings.js'
import type { EmbeddedServer } from '../embedded/index.js'
import { type ApiToken, apiToken } from './api-token.js'
import { Child } from './child.js'
import { isPortChosen, type MainSettings } from './environment.js'
import { isPortFree, nextFreePort, portTaken } from './port.js'
import { Supervisor } from './supervisor.js'

export interface ProcessTree {
  readonly url: string
  readonly token: ApiToken
  /** The requested port, if another one had to be used. */
  readonly portInstead: number | null
}

export interface TreeOptions {
  readonly signal: AbortSignal
  /** The log level of the parts. */
  readonly logLevel: string
  /** Settings of the parts in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** Supervised with the rest; null if the database is not ours. */
  readonly database: EmbeddedServer | null
  /** Receives a line when a part exits and when it runs again. */
  readonly report: (line: string) => void
}

/**
 * API and runner as separate processes, for the duration of `use`. They meet only in the database. A part that exits
 * by itself is restarted; the first start is not repeated: waiting does not fix a wrong setting.
 */
export async function withTree<T>(
  settings: MainSettings,
  options: TreeOptions,
  use: (tree: ProcessTree) => Promise<T>,
): Promise<T> {
  const token = await apiToken(settings)
  const port = await choosePort(settings)
  const starts = await startParts(partsOf(settings, options, token.token), port, options.signal)
  const [{ where: url }] = starts
  // Also if the system chose the port: the console and users' scripts know this address now.
  const samePort = Number(new URL(url).port || 80)
  const supervisors = starts.map(({ spec, child }) => supervised(spec, child, { port: samePort, options }))
  const database = options.database === null ? null : supervisedDatabase(options.database, options.report)
  try {
    const portInstead = port === settings.VITRINA_PORT ? null : settings.VITRINA_PORT
    const all = database === null ? supervisors : [...supervisors, database]
    return await Promise.race([use({ url, token, portInstead }), ...all.map(({ failed }) => failed)])
  } finally {
    await Promise.all(supervisors.map((one) => one.stop()))
    // Last: a runner that finishes its batch needs it.
    await database?.stop()
  }
}

/** A process of the tree. */
interface PartSpec {
  readonly name: string
  readonly command: string
  readonly env: NodeJS.ProcessEnv
}

interface Started {
  readonly spec: PartSpec
  readonly child: Child
  /** Where to find it. */
  readonly where: string
}

function partsOf(
  settings: MainSettings,
  { env, logLevel }: TreeOptions,
  token: string,
): readonly [PartSpec, PartSpec] {
  const common = {
    ...process.env,
    ...env,
    ...WITHOUT_SECRETS,
    LOG_LEVEL: logLevel,
    VITRINA_HOST: settings.VITRINA_HOST,
    VITRINA_READER_DATABASE_URL: loginUrl(settings, 'reader'),
  }
  return [
    {
      name: 'API',
      command: 'api',
      env: {
        ...common,
        ...withoutCaptureLogins(settings),
        VITRINA_API_DATABASE_URL: loginUrl(settings, 'meta'),
        VITRINA_API_TOKEN: token,
      },
    },
    {
      name: 'runner',
      command: 'runner',
      env: {
        ...common,
        VITRINA_RUNNER_DATABASE_URL: loginUrl(settings, 'writer'),
        VITRINA_CAPTURE_DATABASE_URL: settings.VITRINA_CAPTURE_DATABASE_URL ?? '',
      },
    },
  ]
}

/** All of them or none: if one does not start, the others are stopped. */
async function startParts(
  specs: readonly [PartSpec, PartSpec],
  port: number,
  signal: AbortSignal,
): Promise<[Started, Started]> {
  const failing = new AbortController()
  const either = AbortSignal.any([signal, failing.signal])
  const starts = specs.map((spec) =>
    start(spec, port, either).catch((error) => {
      failing.abort(error)
      throw error
    }),
  )
  const done = await Promise.allSettled(starts)
  if (!either.aborted) return (await Promise.all(starts)) as [Started, Started]
  for (const one of done) if (one.status === 'fulfilled') await one.value.child.stop()
  throw either.reason
}

/** Resolves when it works. */
async function start(spec: PartSpec, port: number, signal: AbortSignal): Promise<Started> {
  const child = new Child(spec.name, [spec.command], { ...spec.env, VITRINA_PORT: String(port) })
  try {
    return { spec, child, where: await Promise.race([child.ready, stopped(signal)]) }
  } catch (error) {
    await child.stop()
    throw error
  }
}

function supervised(
  spec: PartSpec,
  child: Child,
  { port, options: { report } }: { port: number; options: TreeOptions },
): Supervisor {
  const restart = async (signal: AbortSignal) => (await start(spec, port, signal)).child
  return new Supervisor({ name: spec.name, report, restart }, child)
}

/** Its owner stops it; here it is only kept running. */
function supervisedDatabase(server: EmbeddedServer, report: TreeOptions['report']): Supervisor {
  const part = () => ({ pid: null, exited: server.exited, stop: async () => {} })
  const restart = async (signal: AbortSignal) => {
    await server.restart(signal)
    return part()
  }
  return new Supervisor({ name: 'embedded PostgreSQL', report, restart }, part())
}

async function choosePort({ VITRINA_HOST: host, VITRINA_PORT: wanted }: MainSettings): Promise<number> {
  if (!isPortChosen()) return nextFreePort(host, wanted)
  if (wanted !== 0 && !(await isPortFree(host, wanted))) throw portTaken(host, wanted)
  return wanted
}

/** Empty, not absent: a part reads .env too, and the administrator's password must not return that way. */
const WITHOUT_SECRETS = {
  DATABASE_URL: '',
  VITRINA_API_DATABASE_URL: '',
  VITRINA_RUNNER_DATABASE_URL: '',
  VITRINA_READER_DATABASE_URL: '',
  VITRINA_CAPTURE_DATABASE_URL: '',
  VITRINA_API_TOKEN: '',
}

/** The API does not capture: what is copied with these logins would be the whole cluster. */
function withoutCaptureLogins({ connections, environment }: MainSettings): Record<string, string> {
  const isCapture = (variable: string) => {
    const name = /^VITRINA_CONNECTION_(.+)_CAPTURE_URL$/.exec(variable)?.[1]
    return name !== undefined && connections.has(name.toLowerCase())
  }
  return Object.fromEntries(
    Object.keys(environment)
      .filter(isCapture)
      .map((variable) => [variable, '']),
  )
}

function stopped(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

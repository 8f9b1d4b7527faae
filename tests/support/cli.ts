import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { addDemoPipelines, readDemoPipelines } from '../../src/main/demo-data.js'
import { type Ended, runCommand } from './commands.js'
import { aDatabase, type TestDatabase } from './database.js'
import { type SpawnedVitrina, spawnVitrina } from './processes.js'

export const CLI_TOKEN = 'a-token-for-cli-tests'

/** The program next to a real server: one API and one runner for all tests of a file. */
export interface CliStand {
  readonly database: TestDatabase
  readonly url: string
  /** The working folder and the home of the user who runs the commands. */
  readonly folder: string
  /** Runs a command to its end, as the administrator. */
  vitrina(...args: string[]): Promise<Ended>
  /** With other settings than those of the administrator. */
  vitrinaWith(env: Record<string, string>, ...args: string[]): Promise<Ended>
  /** Starts a command in its own process and does not wait. */
  start(...args: string[]): SpawnedVitrina
  file(name: string, text: string): Promise<string>
}

type Environment = Readonly<Record<string, string>>

interface StandOptions {
  /** Settings of the API. */
  readonly env?: Environment | (() => Promise<Environment>)
}

/** In a database with the cinema and its demo pipelines. */
export function aCliStand({ env = {} }: StandOptions = {}): () => CliStand {
  let stand: CliStand
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vitrina cli '))
    stand = await startStand(folder, typeof env === 'function' ? await env() : env)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return () => stand
}

async function startStand(folder: string, env: Environment): Promise<CliStand> {
  const database = await aDatabase({ cinema: true })
  const pipelines = (await readDemoPipelines()).filter(({ target }) => !target.startsWith('es:'))
  await addDemoPipelines({ DATABASE_URL: database.url }, pipelines)
  const server = { DATABASE_URL: database.url, RUNNER_POLL_INTERVAL_MS: '100', LOG_LEVEL: 'warn' }
  const api = spawnVitrina(
    ['api'],
    { ...server, ...env, VITRINA_PORT: '0', VITRINA_API_TOKEN: CLI_TOKEN },
    { cwd: folder },
  )
  spawnVitrina(['runner'], server, { cwd: folder })
  const [, url = ''] = await api.waitForOutput(/API\s+(http\S+)\/api\/v1/)
  const admin = { HOME: folder, VITRINA_URL: url, VITRINA_API_TOKEN: CLI_TOKEN }
  return {
    database,
    url,
    folder,
    vitrina: (...args) => runCommand(args, admin, { cwd: folder }),
    vitrinaWith: (env, ...args) => runCommand(args, { HOME: folder, ...env }, { cwd: folder }),
    start: (...args) => spawnVitrina(args, admin, { cwd: folder }),
    file: async (name, text) => {
      await writeFile(join(folder, name), text)
      return name
    },
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll } from 'vitest'
import { type ApiClient, createClient } from '../../../src/client/api-client.js'
import { addDemoPipelines, readDemoPipelines } from '../../../src/main/demo-data.js'
import { aDatabase, type TestDatabase } from '../../support/database.js'
import { type SpawnedVitrina, spawnVitrina } from '../../support/processes.js'

export const TOKEN = 'a-token-for-browser-tests'

/** The complete product: a database with the cinema, an API with its console, and a runner. */
export interface ConsoleStand {
  readonly database: TestDatabase
  readonly url: string
  /** A client with the administrator token. */
  readonly api: ApiClient
  /** Creates a token with this role. */
  token(role: 'viewer' | 'operator' | 'admin'): Promise<{ id: string; token: string }>
  /** Opens a page of the console, signed in with a code; `by` is another address of the same server. */
  open(page: Page, path?: string, token?: string, by?: string): Promise<void>
  /** Starts another runner. */
  runner(env?: Record<string, string>): SpawnedVitrina
}

interface StandOptions {
  /** Additional settings of API and runner. */
  readonly env?: () => Promise<Record<string, string>>
  /** False: the test starts runners itself. */
  readonly hasRunner?: boolean
}

export function aConsoleStand(options: StandOptions = {}): () => ConsoleStand {
  let stand: ConsoleStand
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'vitrina-console-'))
    stand = await start(folder, options)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  return () => stand
}

async function start(
  folder: string,
  { env: settings = async () => ({}), hasRunner = true }: StandOptions,
): Promise<ConsoleStand> {
  const env = await settings()
  const database = await aDatabase({ cinema: true })
  // The first three fit on one screen.
  await addDemoPipelines({ DATABASE_URL: database.url }, (await readDemoPipelines()).slice(0, 3))
  const server = { DATABASE_URL: database.url, RUNNER_POLL_INTERVAL_MS: '100', LOG_LEVEL: 'warn', ...env }
  const api = spawnVitrina(
    ['api'],
    { ...server, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN, API_RATE_LIMIT: '1000000' },
    { cwd: folder },
  )
  const runner = (env = {}) => spawnVitrina(['runner'], { ...server, ...env }, { cwd: folder })
  if (hasRunner) runner()
  const [, url = ''] = await api.waitForOutput(/API\s+(http\S+)\/api\/v1/)
  const client = createClient({ url, token: TOKEN })
  return {
    database,
    url,
    api: client,
    token: async (role) => {
      const { data } = await client.POST('/tokens', { body: { name: `${role} of a test`, role } })
      return data!
    },
    runner,
    open: async (page, path = '/pipelines', token = TOKEN, by = url) => {
      const { data } = await createClient({ url, token }).POST('/session/code', {})
      const address = `${by}/ui${path}#code=${data!.code}`
      // Chromium aborts requests when a network interface is added or removed: retry.
      await page.goto(address).catch((error: Error) => {
        if (!error.message.includes('net::ERR_NETWORK_CHANGED')) throw error
        return page.goto(address)
      })
      await page.getByRole('navigation', { name: /Main|Главное/ }).waitFor()
    },
  }
}

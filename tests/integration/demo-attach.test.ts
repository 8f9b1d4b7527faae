import { describe, expect, it } from 'vitest'
import { readDemoPipelines } from '../../src/main/demo-data.js'
import { CINEMA_DIR } from '../../src/main/paths.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'

const TOKEN = 'a-token-for-this-stand'
const marts = (await readDemoPipelines()).filter(({ target }) => !target.startsWith('es:'))

/** API and runner as the containers start them: without the administrator. */
async function startStand(database: TestDatabase, port: number): Promise<SpawnedVitrina> {
  const common = {
    VITRINA_READER_DATABASE_URL: database.loginUrl('reader'),
    VITRINA_PYTHON_TASKS: `${CINEMA_DIR}/python`,
  }
  const cwd = await aFolder()
  const meta = { VITRINA_API_DATABASE_URL: database.loginUrl('meta') }
  spawnVitrina(['api'], { ...common, ...meta, VITRINA_API_TOKEN: TOKEN, VITRINA_PORT: String(port) }, { cwd })
  const writer = { VITRINA_RUNNER_DATABASE_URL: database.loginUrl('writer') }
  return spawnVitrina(['runner'], { ...common, ...writer }, { cwd })
}

describe('vitrina demo --attach', () => {
  it('waits for the API, and builds every mart with the existing runner', async () => {
    const database = await aDatabase()
    const [port = 0] = await freePorts(1)
    const demo = spawnVitrina(
      ['demo', '--attach', `http://127.0.0.1:${port}`],
      { DATABASE_URL: database.url, VITRINA_API_TOKEN: TOKEN },
      { cwd: await aFolder() },
    )
    await demo.waitForOutput(/Waiting: No Vitrina API responds/, 120_000)
    await startStand(database, port)
    expect(await demo.exited, demo.stderr).toBe(0)
    for (const { target } of marts)
      expect(demo.stdout).toMatch(new RegExp(`✓ ${target} matches: [1-9]\\d* rows`))
    expect(await database.query('SELECT count(*)::int AS runners FROM etl.etl_runners')).toEqual([
      { runners: 1 },
    ])
  }, 300_000)

  it('reports what it needs', async () => {
    const url = 'http://127.0.0.1:1'
    for (const [env, sentence] of [
      [{ VITRINA_API_TOKEN: TOKEN }, 'DATABASE_URL is not set.'],
      [{ DATABASE_URL: 'postgres://etl@127.0.0.1:1/none' }, `No token for ${url}.`],
    ] as const) {
      const demo = spawnVitrina(['demo', '--attach', url], { ...env }, { cwd: await aFolder() })
      expect(await demo.exited).toBe(1)
      expect(demo.stderr).toContain(sentence)
    }
  })
})

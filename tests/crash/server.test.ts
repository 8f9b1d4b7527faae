import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { migrate } from '../../src/store/migrate.js'
import { grantRoles } from '../../src/store/roles.js'
import { type CountedMart, countedMartIn, signatures, writesOf } from '../support/counted-mart.js'
import type { TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { type PostgresServer, startPostgres } from '../support/postgres-server.js'
import { aRunner } from '../support/runner.js'
import { requestRun, runById, runEnded } from '../support/runs.js'
import { inTurn } from '../support/sample.js'
import { withClient } from '../support/server.js'
import { waitFor } from '../support/wait.js'

const ROWS = 4_000

/** A database of a server of its own; every statement on a connection of its own, because the server comes and goes. */
function databaseAt(url: string): TestDatabase {
  const refuse = () => {
    throw new Error('not for a server that is stopped')
  }
  return {
    url,
    loginUrl: refuse,
    client: refuse,
    query: <R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) =>
      withClient(url, async (client) => (await client.query<R>(text, [...values])).rows),
    drop: async () => {},
  }
}

/** What `pg_ctl stop -m immediate` does: no checkpoint, no goodbye. */
async function stopImmediately(server: PostgresServer): Promise<void> {
  const [pid] = (await readFile(join(server.dataDir, 'postmaster.pid'), 'utf8')).split('\n')
  process.kill(Number(pid), 'SIGQUIT')
  await server.stop()
}

async function aMartOn(server: PostgresServer, warehouse: boolean): Promise<CountedMart> {
  await migrate(server.url)
  await grantRoles({ administratorUrl: server.url, sourceSchemas: ['content'], targetSchemas: ['analytics'] })
  const main = databaseAt(server.url)
  let target = main
  if (warehouse) {
    await main.query('CREATE DATABASE warehouse')
    const url = new URL(server.url)
    url.pathname = '/warehouse'
    target = databaseAt(url.href)
  }
  return countedMartIn(main, target, { rows: ROWS, warehouse, paged: true, pipeline: { batchSize: 20 } })
}

describe('R3.6 R4.5 a server that is stopped with `immediate` in the middle of a run and comes back', () => {
  const CASES = [
    ['in one database', false],
    ['into another database', true],
  ] as const
  it.each(inTurn(CASES, 0))(
    'loses nothing and doubles nothing %s',
    async (_, warehouse) => {
      const home = join(await aFolder(), '.vitrina')
      const start = async () => {
        const { bin } = inject('server')
        const server = await startPostgres({ home, bin, durable: true, settings: { max_connections: '60' } })
        onTestFinished(() => server.stop())
        return server
      }
      let server = await start()
      const mart = await aMartOn(server, warehouse)
      const runner = await aRunner(mart.main, { env: { ...mart.env, RUNNER_LEASE_SECONDS: '5' } })
      const runId = await requestRun(mart.main, mart.pipeline.id)
      for (const batches of [10, 60]) {
        await waitFor(async () => (await runById(mart.main, runId)).batches >= batches, {
          what: `${batches} batches`,
        })
        await stopImmediately(server)
        server = await start()
      }
      expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', error: null })
      const { source, mart: filled } = await signatures(mart)
      expect(filled).toBe(source)
      expect(await writesOf(mart)).toEqual({ writes: ROWS, keys: ROWS })
      expect((await runById(mart.main, runId)).attempt, 'it was interrupted').toBeGreaterThan(1)
      await runner.stop()
    },
    120_000,
  )
})

import { expect, it } from 'vitest'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { waitFor } from '../../../tests/support/wait.js'
import { Database } from '../database.js'
import { RunLogWriter } from './run-log.js'

const MOST = 20

async function aRun(): Promise<{ database: TestDatabase; runId: string }> {
  const database = await aDatabase()
  const { id } = await aPipeline(database)
  const [row] = await database.query<{ id: string }>(
    "INSERT INTO etl.etl_runs (pipeline_id, status) VALUES ($1, 'RUNNING') RETURNING id",
    [id],
  )
  return { database, runId: row!.id }
}

/** What one runner logs until it ends. */
async function log(
  { database, runId }: { database: TestDatabase; runId: string },
  lines: number,
  level: 'info' | 'warn' = 'info',
): Promise<void> {
  const store = new Database(database.loginUrl('writer'), { name: 'test', size: 1 })
  const writer = new RunLogWriter(store, MOST)
  for (let n = 1; n <= lines; n++)
    writer.keep({ runId, at: new Date().toISOString(), level, message: `line ${n}`, fields: {} })
  await writer.close()
  await store.close()
}

const FULL = /^The log of this run is full/

async function stored({ database, runId }: { database: TestDatabase; runId: string }) {
  const lines = await database.query<{ level: string; message: string }>(
    'SELECT level, message FROM etl.etl_run_log WHERE run_id = $1 ORDER BY id',
    [runId],
  )
  return {
    infos: lines.filter(({ level }) => level === 'info').length,
    notices: lines.filter(({ message }) => FULL.test(message)).length,
    warnings: lines.filter(({ level, message }) => level === 'warn' && !FULL.test(message)).length,
  }
}

it('counts the lines of a run, not of a runner: one that takes the run over adds to the same log', async () => {
  const run = await aRun()
  for (let runner = 1; runner <= 5; runner++) await log(run, 15)
  expect(await stored(run)).toEqual({ infos: MOST, notices: 1, warnings: 0 })
})

it('reports that the log is full after another runner has filled it to the last line', async () => {
  const run = await aRun()
  await log(run, MOST)
  expect(await stored(run)).toEqual({ infos: MOST, notices: 0, warnings: 0 })
  await log(run, 3)
  expect(await stored(run)).toEqual({ infos: MOST, notices: 1, warnings: 0 })
})

it('keeps 1,000 warnings of a full log, from all of its runners together', async () => {
  const run = await aRun()
  await log(run, MOST + 5)
  for (let runner = 1; runner <= 3; runner++) await log(run, 600, 'warn')
  expect(await stored(run)).toEqual({ infos: MOST, notices: 1, warnings: 1_000 })
})

it('counts the lines of runners that work on parts of a run at the same time', async () => {
  const run = await aRun()
  const store = new Database(run.database.loginUrl('writer'), { name: 'test', size: 1 })
  const writers = Array.from({ length: 4 }, () => new RunLogWriter(store, MOST))
  const line = (message: string) =>
    ({ runId: run.runId, at: new Date().toISOString(), level: 'info', message, fields: {} }) as const
  for (const [n, writer] of writers.entries()) {
    writer.keep(line(`runner ${n}`))
    await waitFor(async () => (await stored(run)).infos === n + 1, { what: 'its first line' })
  }
  for (const writer of writers) {
    for (let n = 0; n < 15; n++) writer.keep(line(`line ${n}`))
    await writer.close()
  }
  await store.close()
  expect(await stored(run)).toEqual({ infos: MOST, notices: 1, warnings: 0 })
})

it('keeps the lines of a new run that arrive before its count is known, in order', async () => {
  const run = await aRun()
  await log(run, 7)
  const lines = await run.database.query<{ message: string }>(
    'SELECT message FROM etl.etl_run_log ORDER BY id',
  )
  expect(lines.map(({ message }) => message)).toEqual(Array.from({ length: 7 }, (_, n) => `line ${n + 1}`))
})

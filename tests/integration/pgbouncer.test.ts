import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, inject, it, onTestFinished } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { anApi } from '../support/api.js'
import { aPipeline } from '../support/builders.js'
import { aLogicalServer, prepareSource } from '../support/capture.js'
import { type Ended, runCommand } from '../support/commands.js'
import { aCountedMart, signatures, writesOf } from '../support/counted-mart.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { olderTransactionsEnded } from '../support/older-transactions.js'
import { throughPgBouncer } from '../support/pgbouncer.js'
import { isStopped } from '../support/proc.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById, runEnded } from '../support/runs.js'
import { changeCinema, SMOKE_TASK, smokeSet } from '../support/smoke-set.js'
import { rowTexts } from '../support/stand.js'
import { taskSettings } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

const TOKEN = 'a-token-for-tests-only'
const UNSUITABLE = /POOLER_UNSUITABLE/
const found = inject('pgbouncer')
const program = 'path' in found ? found.path : ''

beforeEach(({ skip }) => {
  if ('missing' in found) skip(found.missing)
})

interface Answer {
  readonly status: number
  readonly body: Record<string, unknown>
}

type Call = (method: string, path: string, body?: object) => Promise<Answer>

async function startApi(env: Record<string, string>, cwd: string): Promise<Call> {
  const api = spawnVitrina(['api'], { ...env, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN }, { cwd })
  const [, url = ''] = await api.waitForOutput(/API\s+(http\S+\/api\/v1)/)
  return async (method, path, body) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }
}

/** A folder with the transform of the smoke set, and the settings that refer to it. */
async function workFolder(): Promise<{ cwd: string; env: Record<string, string> }> {
  const cwd = await aFolder()
  await mkdir(dirname(join(cwd, SMOKE_TASK.file)), { recursive: true })
  await writeFile(join(cwd, SMOKE_TASK.file), SMOKE_TASK.text)
  return { cwd, env: { ...taskSettings(cwd), RUNNER_POLL_INTERVAL_MS: '100' } }
}

async function vitrina(args: readonly string[], env: Record<string, string>): Promise<Ended> {
  return runCommand(args, { VITRINA_PORT: '0', ...env }, { cwd: await aFolder() })
}

async function aWarehouse(): Promise<TestDatabase> {
  const warehouse = await aDatabase({ migrated: false })
  await warehouse.query('CREATE SCHEMA analytics')
  return warehouse
}

describe('behind a PgBouncer in session mode', () => {
  it('migrates, passes doctor, and API and runner fill, compare and repair marts of every kind', async () => {
    const [main, warehouse] = [await aDatabase({ cinema: true }), await aWarehouse()]
    const { cwd, env: tasks } = await workFolder()
    const env = {
      ...tasks,
      DATABASE_URL: await throughPgBouncer(main.url, { program, poolMode: 'session' }),
      VITRINA_CONNECTION_WAREHOUSE_URL: await throughPgBouncer(warehouse.url, {
        program,
        poolMode: 'session',
      }),
    }
    expect((await vitrina(['migrate'], env)).stderr).toContain('The meta store is already up to date')
    const doctor = await vitrina(['doctor'], env)
    expect([doctor.code, doctor.stdout]).toEqual([0, expect.stringContaining('✓ pooler: ')])
    const call = await startApi(env, cwd)
    spawnVitrina(['runner'], env, { cwd })
    const pipelines = await smokeSet(main, warehouse)
    for (const round of ['first', 'second']) {
      // Four at a time: each check takes up to three of the 20 sessions.
      for (let first = 0; first < pipelines.length; first += 4)
        await Promise.all(
          pipelines.slice(first, first + 4).map(async ({ name, id, way, verify }) => {
            const validation = await call('POST', `/pipelines/${id}/validate`)
            expect([name, validation.body.errors]).toEqual([name, []])
            const requested = await call('POST', `/pipelines/${id}/run`)
            const ended = await runEnded(main, String(requested.body.run_id))
            const success = expect.objectContaining({ status: 'SUCCESS', way })
            expect([round, name, ended]).toEqual([round, name, success])
            await verify()
            const comparison = await call('GET', `/pipelines/${id}/reconcile?deep=true`)
            expect([name, comparison.body.matches]).toEqual([name, true])
          }),
        )
      if (round === 'first') {
        await changeCinema(main)
        await olderTransactionsEnded(main)
      }
    }
    const { id, verify } = pipelines[0]!
    await main.query(
      `DELETE FROM analytics.${(await martOf(main, id)).split('.')[1]} WHERE title LIKE 'new 1%'`,
    )
    const repair = await call('POST', `/pipelines/${id}/reconcile/repair`)
    expect(await runEnded(main, String(repair.body.run_id))).toMatchObject({ status: 'SUCCESS', error: null })
    await verify()
  }, 180_000)

  it('captures changes by SQL, because PgBouncer refuses replication connections', async () => {
    const server = await aLogicalServer()
    onTestFinished(() => server.stop())
    const main = await aDatabase()
    const source = await aDatabase({ migrated: false, server })
    await source.query(`
      CREATE SCHEMA content;
      CREATE TABLE content.film (id int PRIMARY KEY, title text);
      INSERT INTO content.film SELECT n, 'film ' || n FROM generate_series(1, 100) n`)
    await prepareSource(main, source, { connection: 'src', tables: ['content.film'] })
    await aRunner(main, {
      env: {
        VITRINA_CONNECTION_SRC_URL: await throughPgBouncer(source.url, { program, poolMode: 'session' }),
      },
    })
    const { id, spec } = await aPipeline(main, {
      ...{ sourceConnection: 'src', mode: 'incremental', capture: 'wal' },
      ...{ sourceQuery: 'SELECT id, title FROM content.film', keyColumns: ['id'] },
    })
    const expectEqual = async () =>
      expect(await rowTexts(main, `SELECT * FROM ${spec.targetTable}`)).toEqual(
        await rowTexts(source, spec.sourceQuery ?? ''),
      )
    expect(await run(main, id)).toMatchObject({ status: 'SUCCESS', error: null })
    await expectEqual()
    await source.query(
      "UPDATE content.film SET title = 'changed' WHERE id < 3; DELETE FROM content.film WHERE id = 100",
    )
    expect(await run(main, id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
      rows_read: 2,
      rows_deleted: 1,
    })
    await expectEqual()
    expect(await main.query('SELECT way FROM etl.etl_change_heads')).toEqual([{ way: 'peek' }])
  })

  it('takes over from a runner that froze inside a batch, and writes every row once', async () => {
    const mart = await aCountedMart({ rows: 300, paged: true })
    const { main, pipeline } = mart
    const env = {
      DATABASE_URL: await throughPgBouncer(main.url, { program, poolMode: 'session' }),
      RUNNER_POLL_INTERVAL_MS: '100',
      RUNNER_LEASE_SECONDS: '1',
    }
    const runId = await requestRun(main, pipeline.id)
    const frozen = spawnVitrina(['runner'], { ...env, VITRINA_FAILPOINT: 'batch.merged@2=freeze' })
    await waitFor(async () => isStopped(frozen.pid), { what: 'the runner to freeze' })
    spawnVitrina(['runner'], { ...env, RUNNER_LEASE_SECONDS: '20' })
    expect(await runEnded(main, runId)).toMatchObject({ status: 'SUCCESS', error: null })
    frozen.kill('SIGCONT')
    const { source, mart: filled } = await signatures(mart)
    expect(filled).toBe(source)
    expect(await writesOf(mart)).toEqual({ writes: 300, keys: 300 })
  })

  it('still works when the pool has no session left for the check of the pooler', async () => {
    const main = await aDatabase({ cinema: true })
    // migrate needs one session at a time.
    const url = await throughPgBouncer(main.url, { program, poolMode: 'session', poolSize: 1 })
    const migrated = await vitrina(['migrate'], { DATABASE_URL: url })
    expect([migrated.code, migrated.stderr]).toEqual([
      0,
      expect.stringContaining('The meta store is already up to date'),
    ])
  })
})

describe.each(['transaction', 'statement'] as const)('behind a PgBouncer in %s mode', (poolMode) => {
  it('migrate, api, runner and up refuse to start, with the remedy', async () => {
    const main = await aDatabase({ cinema: true })
    const url = await throughPgBouncer(main.url, { program, poolMode })
    for (const command of ['migrate', 'api', 'runner', 'up']) {
      const { code, stderr } = await vitrina([command], { DATABASE_URL: url })
      expect([command, code, stderr]).toEqual([command, 1, expect.stringMatching(UNSUITABLE)])
      expect(stderr).toContain('pool_mode=session')
    }
  })

  it('doctor reports it, for the main database and for a named connection', async () => {
    const main = await aDatabase({ cinema: true })
    const url = await throughPgBouncer(main.url, { program, poolMode })
    const doctor = await vitrina(['doctor'], {
      DATABASE_URL: url,
      VITRINA_CONNECTION_WAREHOUSE_URL: url,
    })
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toMatch(/^✗ pooler: .*\n {2}→ .*pool_mode=session/m)
    expect(doctor.stdout).toMatch(/^✗ connection warehouse: .*pooler.*\n {2}→ .*pool_mode=session/m)
  })

  it('fails a run whose named connection leads there, and leaves the mart unchanged', async () => {
    const mart = await aCountedMart({ rows: 300, warehouse: true, stale: 5 })
    const { main, target, pipeline } = mart
    const before = await signatures(mart)
    const warehouse = await throughPgBouncer(target.url, { program, poolMode })
    await aRunner(main, { env: { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse } })
    const runId = await requestRun(main, pipeline.id)
    expect(await runEnded(main, runId)).toMatchObject({
      status: 'FAILED',
      attempt: 1,
      error_code: vtr('POOLER_UNSUITABLE'),
      error_hint: expect.stringContaining('pool_mode=session'),
    })
    expect(await signatures(mart)).toEqual(before)
    expect(await writesOf(mart)).toEqual({ writes: 0, keys: 0 })
    expect((await runById(main, runId)).rows_read).toBe(0)
    const api = anApi(main.loginUrl('meta'), {
      readerUrl: main.loginUrl('reader'),
      connections: ['warehouse'],
      urls: new Map([['warehouse', warehouse]]),
    })
    const validation = await api.post(`/pipelines/${pipeline.id}/validate`)
    expect(validation.json()).toMatchObject({ valid: false, errors: [{ code: 'POOLER_UNSUITABLE' }] })
    const comparison = await api.get(`/pipelines/${pipeline.id}/reconcile`)
    expect([comparison.statusCode, comparison.json().code]).toEqual([503, 'POOLER_UNSUITABLE'])
  })
})

async function martOf(main: TestDatabase, id: string): Promise<string> {
  const [row] = await main.query<{ target_table: string }>(
    'SELECT target_table FROM etl.etl_pipelines WHERE id = $1',
    [id],
  )
  return row!.target_table
}

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { isKnownTo } from '../../src/guard/corpus/first-version.js'
import { FIXTURES } from '../../src/guard/corpus/fixtures.js'
import { HONEST } from '../../src/guard/corpus/honest.js'
import { HOSTILE } from '../../src/guard/corpus/hostile.js'
import { SqlGuard } from '../../src/guard/index.js'
import { vtr } from '../../src/model/errors.js'
import { Session } from '../../src/postgres/session.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { everythingIn } from '../support/everything.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { requestRun, run, runEnded, type StoredRun } from '../support/runs.js'
import { someOf } from '../support/sample.js'

/** Values that a table cannot hold cannot be written into one. */
const STORABLE = HOSTILE.map(({ sql }) => sql).filter((sql) => !/\0|\p{Surrogate}/u.test(sql))
/** The guard itself is tested with the whole corpus; here every text costs a run. */
const share = (texts: readonly string[], divisor: number, what: string) =>
  someOf(texts, Math.ceil(texts.length / divisor), (sql) => `${what} ${sql}`)
const DATA = ['content', 'ugc', 'auth', 'analytics', 'public', 'archive']
const guard = new SqlGuard({ sourceSchemas: ['content', 'ugc'] })

/** One runner for each way of reading: in the database itself as the writer, or between two as the reader. */
describe.each(['pushdown', 'relay'] as const)('a row written by hand, run by %s', (way) => {
  let database: TestDatabase
  let runner: TestRunner

  beforeAll(async () => {
    database = await aDatabase({ cinema: true })
    await database.query(FIXTURES)
    runner = await aRunner(database, { way })
  })
  afterAll(() => runner?.stop())

  /** All at once, as many as the runner accepts. */
  async function runAll(queries: readonly string[], keyColumn: string): Promise<StoredRun[]> {
    const ids: string[] = []
    for (const sourceQuery of queries) {
      const { id } = await aPipeline(database, { sourceQuery, keyColumns: [keyColumn] })
      ids.push(await requestRun(database, id))
    }
    const runs: StoredRun[] = []
    for (const id of ids) runs.push(await runEnded(database, id))
    return runs
  }

  /** The error of the API for the same text. */
  async function verdictOn(sql: string): Promise<string> {
    if (sql.trim() === '') return vtr('PIPELINE_INVALID')
    const open = () =>
      Session.open(database.loginUrl('reader'), 'vitrina-guard', new AbortController().signal)
    const verdict = await guard.check(sql, open)
    return verdict.ok ? 'accepted' : vtr(verdict.problems[0]!.code)
  }

  it('is rejected with the code that the API returns, and changes nothing, if it is hostile (R6.1)', async () => {
    const texts = share(STORABLE, way === 'pushdown' ? 3 : 8, `hostile by ${way}`)
    const expected: string[] = []
    for (const sql of texts) expected.push(await verdictOn(sql))
    const before = await everythingIn(database, DATA)
    const runs = await runAll(texts, 'a')
    const outcomes = runs.map(({ status, error_code, attempt, rows_read }, n) => [
      texts[n]!.slice(0, 200),
      status,
      error_code,
      attempt,
      rows_read,
    ])
    expect(outcomes).toEqual(texts.map((sql, n) => [sql.slice(0, 200), 'FAILED', expected[n], 1, 0]))
    expect(expected).not.toContain('accepted')
    expect(await everythingIn(database, DATA)).toEqual(before)
  })

  it('runs if it is honest', async () => {
    const runnable = HONEST.filter(
      (sql) =>
        /^\W*SELECT (\w\.)?id\b(?! AS)/i.test(sql) &&
        !/SAMPLE|random/.test(sql) &&
        isKnownTo(inject('server').major, sql),
    )
    expect(runnable.length).toBeGreaterThan(50)
    const texts = share(runnable, 3, `honest by ${way}`)
    const runs = await runAll(texts, 'id')
    const outcomes = runs.map(({ status, error, rows_read }, n) => [texts[n], status, error, rows_read])
    const expected = []
    for (const sql of texts) {
      const [row] = await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM (${bare(sql)}) AS s`)
      expected.push([sql, 'SUCCESS', null, row!.n])
    }
    expect(outcomes).toEqual(expected)
  })

  it('is rejected with the position in the text of its author', async () => {
    const { id } = await aPipeline(database, {
      sourceQuery: 'SELECT id AS film_id,\n  pg_sleep(1)::text AS title\nFROM auth.users',
    })
    expect(await run(database, id)).toMatchObject({
      error_code: 'VTR-2001',
      error:
        'line 2, column 3: pg_sleep() may not be called: it only makes the server wait. line 3, column 6: auth.users may not be read.',
      error_hint: 'Use a function that only computes, or a transform.',
    })
  })

  it('is checked again by every run: a view may have changed since', async () => {
    await database.query(`CREATE VIEW content.${way} AS SELECT id, title FROM content.film_work;
      GRANT SELECT ON content.${way} TO vitrina_reader`)
    const { id } = await aPipeline(database, {
      sourceQuery: `SELECT id, title FROM content.${way}`,
      keyColumns: ['id'],
    })
    expect(await run(database, id)).toMatchObject({ status: 'SUCCESS' })
    await database.query(
      `CREATE OR REPLACE VIEW content.${way} AS SELECT id, login::varchar(255)::text AS title FROM auth.users`,
    )
    expect(await run(database, id)).toMatchObject({
      error_code: 'VTR-2001',
      error: `line 1, column 23: auth.users, which content.${way} reads, may not be read.`,
      rows_read: 0,
    })
  })
})

/** Without the rest after its last word: a bracket will follow. */
function bare(sql: string): string {
  return `${sql.replace(/(;|--[^\n]*$|\s)+$/g, '')}\n`
}

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner, type TestRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { rowTexts } from '../support/stand.js'

const LOGINS = 'vitrina_reader, vitrina_writer'

/** What a run has found out about source and mart is used by the next one. */
describe.each(['pushdown', 'relay'] as const)('by %s, a run that follows others notices', (way) => {
  let main: TestDatabase
  let runner: TestRunner
  let number = 0
  let mart: string
  let view: string
  let id: string

  beforeAll(async () => {
    main = await aDatabase()
    await main.query(`CREATE SCHEMA content; GRANT USAGE ON SCHEMA content TO ${LOGINS}`)
    runner = await aRunner(main, { way, env: { ALLOWED_SOURCE_SCHEMAS: 'content' } })
  })
  afterAll(() => runner?.stop())

  beforeEach(async () => {
    number += 1
    view = `content.film_${number}`
    mart = `analytics.film_${number}`
    await main.query(`
      CREATE TABLE content.base_${number} (id int PRIMARY KEY, title text);
      INSERT INTO content.base_${number} SELECT n, 'film ' || n FROM generate_series(1, 10) n;
      CREATE VIEW ${view} AS SELECT id, title FROM content.base_${number};
      GRANT SELECT ON ALL TABLES IN SCHEMA content TO ${LOGINS}`)
    ;({ id } = await aPipeline(main, {
      sourceQuery: `SELECT id, title FROM ${view}`,
      targetTable: mart,
      mode: 'incremental',
      capture: 'xmin',
      keyColumns: ['id'],
    }))
    // The first creates the mart, the second examines it, the third uses what the second found out.
    for (let round = 0; round < 3; round++) await succeeds()
  })

  const succeeds = async () => expect(await run(main, id)).toMatchObject({ status: 'SUCCESS' })
  const isEqual = async () =>
    expect(await rowTexts(main, `SELECT id, title FROM ${mart}`)).toEqual(
      await rowTexts(main, `SELECT id, title FROM ${view}`),
    )
  const change = (n: number) =>
    main.query(`UPDATE content.base_${number} SET title = 'changed ' || id WHERE id <= ${n}`)

  it('that a view has another query', async () => {
    await main.query(
      `CREATE OR REPLACE VIEW ${view} AS SELECT id, upper(title) AS title FROM content.base_${number}`,
    )
    await change(10)
    await succeeds()
    await isEqual()
  })

  it('that a column of the mart has another type', async () => {
    await main.query(`ALTER TABLE ${mart} ALTER title TYPE varchar(3) USING left(title, 3)`)
    await change(1)
    // All of them if a transaction of another test is open: then earlier rows count as new.
    expect((await run(main, id)).rows_quarantined).toBeGreaterThan(0)
  })

  it('that the mart was dropped', async () => {
    await main.query(`DROP TABLE ${mart}`)
    await change(1)
    await succeeds()
    await isEqual()
  })

  it('that the mart was dropped and created again by someone else', async () => {
    await main.query(`DROP TABLE ${mart}; CREATE TABLE ${mart} (title text, id int PRIMARY KEY)`)
    await main.query(`GRANT ALL ON ${mart} TO vitrina_writer`)
    await change(1)
    await succeeds()
    await isEqual()
  })

  it('that the login may not read the source any more', async () => {
    await main.query(`REVOKE ALL ON ${view} FROM ${LOGINS}`)
    await change(1)
    expect(await run(main, id)).toMatchObject({ status: 'FAILED' })
  })
})

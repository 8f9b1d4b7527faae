import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { onRoutes, ROUTES, rowTexts, stateOf } from '../support/stand.js'

const incremental = {
  mode: 'incremental',
  incrementalKey: 'at',
  incrementalIdKey: 'id',
  keyColumns: ['id'],
} as const
const ROWS = `
  CREATE TABLE content.dated (id int PRIMARY KEY, at timestamptz NOT NULL);
  INSERT INTO content.dated SELECT n, '2024-01-01'::timestamptz + n * interval '1 us' FROM generate_series(1, 100) n`

onRoutes(
  ROUTES.filter((route) => route.targetConnection !== null),
  (stand) => {
    it('stores the checkpoint next to the rows, and a copy of it in the main database', async () => {
      await stand().source.query(ROWS)
      const { id } = await stand().pipeline({
        sourceQuery: 'SELECT * FROM content.dated',
        targetTable: 'analytics.dated',
        batchSize: 30,
        ...incremental,
      })
      expect(await stand().run(id)).toMatchObject({
        status: 'SUCCESS',
        error: null,
        rows_inserted: 100,
        batches: 4,
        way: 'relay',
      })
      const state = { last_processed_key: '2024-01-01 00:00:00.0001+00', last_processed_id: '100' }
      expect(await stateOf(stand().target, id)).toEqual(state)
      expect(await stateOf(stand().main, id)).toEqual(state)
    })

    it('uses the checkpoint next to the rows, whatever the copy contains', async () => {
      const { id } = await stand().pipeline({
        sourceQuery: 'SELECT * FROM content.dated',
        targetTable: 'analytics.believed',
        ...incremental,
      })
      await stand().run(id)
      await stand().main.query(
        'UPDATE etl.etl_state SET last_processed_key = NULL, last_processed_id = NULL, position = NULL WHERE pipeline_id = $1',
        [id],
      )
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_read: 0 })
    })

    it('needs no right to create anything if the table of checkpoints exists', async () => {
      await stand().target.query(`
        DROP ROLE IF EXISTS conformance_writer; CREATE ROLE conformance_writer LOGIN PASSWORD 'conformance';
        GRANT USAGE ON SCHEMA etl, analytics TO conformance_writer; GRANT CREATE ON SCHEMA analytics TO conformance_writer;
        GRANT SELECT, INSERT, UPDATE ON etl.etl_state TO conformance_writer`)
      const url = new URL(stand().target.url)
      url.username = 'conformance_writer'
      url.password = 'conformance'
      await stand().runner.stop()
      const runner = await aRunner(stand().main, { env: { VITRINA_CONNECTION_DWH_URL: url.href } })
      const { id } = await stand().pipeline({
        sourceQuery: 'SELECT * FROM content.dated',
        targetTable: 'analytics.humble',
        ...incremental,
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 100 })
      await runner.stop()
      await stand().target.query('DROP OWNED BY conformance_writer; DROP ROLE conformance_writer')
    })
  },
)

it('recognizes a connection to the main database', async () => {
  const database = await aDatabase({ cinema: true })
  await database.query(ROWS)
  await aRunner(database, { env: { VITRINA_CONNECTION_SELF_URL: database.url } })
  const { id } = await aPipeline(database, {
    sourceQuery: 'SELECT * FROM content.dated',
    targetTable: 'analytics.dated',
    targetConnection: 'self',
    ...incremental,
  })
  expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', error: null, rows_inserted: 100 })
  expect(await rowTexts(database, 'SELECT * FROM analytics.dated')).toEqual(
    await rowTexts(database, 'SELECT * FROM content.dated'),
  )
})

it('names a connection that does not exist', async () => {
  const database = await aDatabase({ cinema: true })
  await aRunner(database)
  const { id } = await aPipeline(database, { sourceConnection: 'nowhere' })
  const ended = await run(database, id)
  expect(ended).toMatchObject({ status: 'FAILED', error_code: 'VTR-1102', attempt: 1 })
  expect(ended.error_hint).toContain('VITRINA_CONNECTION_NOWHERE_URL')
})

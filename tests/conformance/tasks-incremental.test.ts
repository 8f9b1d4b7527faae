import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { stateOf } from '../support/stand.js'
import { someTasks, taskSettings } from '../support/tasks.js'

/** Keeps every third row, and gives each the same time: neither says how far the source was read. */
const THINNED = `
import { task, type Row } from 'vitrina'
task('thinned', {}, (rows: Row[]) =>
  rows.filter((row) => row.id % 3 === 0).map((row) => ({ ...row, at: '1999-01-01 00:00:00+00' })))
`

it('R4.2 R4.8 an incremental plan resumes after the last row that was read, whatever the functions return', async () => {
  const database = await aDatabase()
  const { folder } = await someTasks({ 'typescript/thinned.ts': THINNED })
  await database.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.ticks (id int PRIMARY KEY, at timestamptz NOT NULL);
    INSERT INTO content.ticks SELECT n, '2024-01-01'::timestamptz + n * interval '1 s' FROM generate_series(1, 100) n;
    GRANT USAGE ON SCHEMA content TO PUBLIC; GRANT SELECT ON content.ticks TO PUBLIC`)
  const { id } = await aPipeline(database, {
    type: 'PYTHON',
    tasks: [
      { taskType: 'SQL', body: 'SELECT id, at FROM content.ticks' },
      { taskType: 'PYTHON', body: 'thinned' },
    ],
    targetTable: 'analytics.ticks',
    keyColumns: ['id'],
    mode: 'incremental',
    incrementalKey: 'at',
    incrementalIdKey: 'id',
    batchSize: 8,
  })
  await aRunner(database, { env: taskSettings(folder) })
  expect(await run(database, id)).toMatchObject({
    status: 'SUCCESS',
    error: null,
    strategy: 'tasks_incremental',
    rows_read: 100,
    rows_inserted: 33,
  })
  const last = { last_processed_key: '2024-01-01 00:01:40+00', last_processed_id: '100' }
  expect(await stateOf(database, id)).toEqual(last)
  expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_read: 0 })
  await database.query(`INSERT INTO content.ticks VALUES (102, '2024-01-01 00:02:00+00')`)
  expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', rows_read: 1, rows_inserted: 1 })
})

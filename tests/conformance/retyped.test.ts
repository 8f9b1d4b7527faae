import { expect, it } from 'vitest'
import { requestRun, runEnded } from '../support/runs.js'
import { onRoutes, ROUTES, rowTexts, type Stand } from '../support/stand.js'
import { waitFor } from '../support/wait.js'

/** Runs a pipeline, and `meanwhile` when it has looked at both sides and has read nothing yet. */
async function runWhile(stand: Stand, id: string, meanwhile: () => Promise<unknown>) {
  const holder = await stand.target.client()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM etl.etl_state WHERE pipeline_id = $1 FOR UPDATE', [id])
  const run = await requestRun(stand.main, id)
  const waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  await waitFor(async () => (await stand.target.query(waits)).length > 0, { what: 'the run to wait' })
  await meanwhile()
  await holder.query('COMMIT')
  return runEnded(stand.main, run)
}

onRoutes(
  ROUTES.filter((route) => route.name === 'relay'),
  (stand) => {
    it.each(['source', 'target'] as const)(
      'does not misinterpret bytes when the type of a column of the %s changes',
      async (side) => {
        await stand().source.query(
          `CREATE TABLE content.${side} (id int PRIMARY KEY, n bigint); INSERT INTO content.${side} SELECT n, 1000 * n FROM generate_series(1, 9) n`,
        )
        await stand().target.query(`CREATE TABLE analytics.${side} (id int PRIMARY KEY, n bigint)`)
        const { id } = await stand().pipeline({
          sourceQuery: `SELECT * FROM content.${side}`,
          targetTable: `analytics.${side}`,
        })
        const table = side === 'source' ? 'content.source' : 'analytics.target'
        const retype = () => stand()[side].query(`ALTER TABLE ${table} ALTER COLUMN n TYPE double precision`)
        expect(await runWhile(stand(), id, retype)).toMatchObject({
          status: 'FAILED',
          attempt: 1,
          rows_written: 0,
        })
        expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 9 })
        expect(await rowTexts(stand().target, `SELECT * FROM analytics.${side}`)).toEqual(
          await rowTexts(stand().source, `SELECT * FROM content.${side}`),
        )
      },
    )
  },
)

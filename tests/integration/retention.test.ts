import { expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { aReportingPipeline, aRule } from '../support/notifications.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

async function counts(database: TestDatabase, runId: string): Promise<unknown> {
  const [row] = await database.query(
    `SELECT (SELECT count(*) FROM etl.etl_runs WHERE id = $1)::int AS runs,
            (SELECT count(*) FROM etl.etl_run_batches WHERE run_id = $1)::int AS batches,
            (SELECT count(*) > 0 FROM etl.etl_run_log WHERE run_id = $1) AS log`,
    [runId],
  )
  return row
}

async function age(database: TestDatabase, runId: string, days: number): Promise<void> {
  await database.query(
    'UPDATE etl.etl_runs SET finished_at = finished_at - make_interval(days => $2) WHERE id = $1',
    [runId, days],
  )
}

it('deletes runs with their batches and their log after RUNS_RETENTION_DAYS, and never the last one of a pipeline', async () => {
  const database = await aDatabase({ cinema: true })
  const runner = await aRunner(database)
  const { id } = await aPipeline(database)
  const other = await aPipeline(database)
  const [old, young, last] = [await run(database, id), await run(database, id), await run(database, id)]
  const only = await run(database, other.id)
  // Lines are written a moment after they were logged; a stopping runner writes all of them.
  await runner.stop()
  for (const one of [old, young, last, only])
    expect(await counts(database, one.id)).toEqual({ runs: 1, batches: one.batches, log: true })
  await age(database, old.id, 4)
  await age(database, young.id, 2)
  await age(database, last.id, 400)
  await age(database, only.id, 400)
  await database.query("UPDATE etl.etl_events SET at = at - interval '2 hours'")

  const api = spawnVitrina(
    ['api'],
    { DATABASE_URL: database.url, VITRINA_PORT: '0', RUNS_RETENTION_DAYS: '3', EVENTS_RETENTION_HOURS: '1' },
    { cwd: await aFolder() },
  )
  await api.waitForOutput(/API\s+http/)
  await waitFor(async () => (await database.query('SELECT FROM etl.etl_runs')).length === 3, {
    what: 'the old run to be deleted',
  })
  expect(await counts(database, old.id)).toEqual({ runs: 0, batches: 0, log: false })
  for (const one of [young, last, only])
    expect(await counts(database, one.id)).toEqual({ runs: 1, batches: one.batches, log: true })
  expect(
    (await database.query('SELECT FROM etl.etl_events WHERE seq IS NOT NULL')).length,
  ).toBeLessThanOrEqual(1)
})

it('deletes settled quarantined rows after QUARANTINE_RETENTION_DAYS, and never a held one', async () => {
  const database = await aDatabase()
  const { id } = await aPipeline(database)
  await database.query(
    `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason)
     SELECT $1, gen_random_uuid(), key, '{secret}', '{canary-7f3a}', 'refused "canary-7f3a"'
       FROM unnest(ARRAY['held', 'old', 'young']) AS key`,
    [id],
  )
  await database.query("UPDATE etl.etl_quarantine SET status = 'DISCARDED' WHERE row_key <> 'held'")
  const values = await database.query(
    "SELECT row_key, q::text LIKE '%canary%' AS readable FROM etl.etl_quarantine q ORDER BY row_key",
  )
  expect(values).toEqual([
    { row_key: 'held', readable: true },
    { row_key: 'old', readable: false },
    { row_key: 'young', readable: false },
  ])
  await database.query(
    `UPDATE etl.etl_quarantine SET refused_at = refused_at - interval '400 days',
            settled_at = settled_at - CASE row_key WHEN 'old' THEN interval '4 days' ELSE interval '2 days' END`,
  )

  const api = spawnVitrina(
    ['api'],
    { DATABASE_URL: database.url, VITRINA_PORT: '0', QUARANTINE_RETENTION_DAYS: '3' },
    { cwd: await aFolder() },
  )
  await api.waitForOutput(/API\s+http/)
  const keys = async () =>
    (await database.query<{ row_key: string }>('SELECT row_key FROM etl.etl_quarantine ORDER BY 1')).map(
      (row) => row.row_key,
    )
  await waitFor(async () => (await keys()).length === 2, { what: 'the old row to be deleted' })
  expect(await keys()).toEqual(['held', 'young'])
})

it('deletes settled notifications, also undelivered ones, with their events after RUNS_RETENTION_DAYS', async () => {
  const database = await aDatabase()
  const [rule, goneRule] = [await aRule(database), await aRule(database)]
  const pipelines = await Promise.all(
    ['kept', 'gone'].map(async (name) => (await aReportingPipeline(database, name)).id),
  )
  const [kept, gone] = pipelines
  /** A message with one event, both so many days old; settled later if so given. */
  const aMessage = async (
    name: string,
    {
      status = 'SENT',
      days = 4,
      settledDays = null as number | null,
      event = 'failed',
      by = rule,
      of = kept,
    },
  ) =>
    database.query(
      `WITH made AS (
         INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, status, created_at, settled_at)
         VALUES ($1, $2, 'hook', $3, $4, now() - make_interval(days => $5),
                 CASE WHEN $4 <> 'PENDING' THEN now() - make_interval(days => $6) END) RETURNING id)
       INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, at, message_id)
       SELECT $1, $3, $7, $2, now() - make_interval(days => $5), id FROM made`,
      [by, name, event, status, days, settledDays ?? days, of],
    )
  await aMessage('sent', { event: 'drift_found' })
  await aMessage('discarded', { event: 'drift_found', status: 'DISCARDED' })
  await aMessage('dead', { status: 'DEAD', of: gone })
  await aMessage('dead, last failure', { status: 'DEAD' })
  await aMessage('dead since yesterday', { status: 'DEAD', settledDays: 1, event: 'drift_found' })
  await aMessage('young', { days: 2, event: 'drift_found' })
  await aMessage('pending', { status: 'PENDING', event: 'drift_found' })
  await aMessage('an earlier failure', {})
  await aMessage('last failure', {})
  await aMessage('last breach', { event: 'stale' })
  await aMessage('last failure of a deleted pipeline', { of: gone })
  await aMessage('last failure for a deleted rule', { by: goneRule })
  await database.query('DELETE FROM etl.etl_notification_rules WHERE id = $1', [goneRule])
  await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [gone])
  // More than one round removes.
  await database.query(
    `INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, at, dropped)
     SELECT $1, 'drift_found', $2, 'dropped', now() - interval '4 days', true FROM generate_series(1, 12000)`,
    [rule, kept],
  )
  const left = async () => {
    const [row] = await database.query<{ messages: string[]; events: string[] }>(
      `SELECT (SELECT array_agg(rule_name ORDER BY rule_name) FROM etl.etl_notification_messages) AS messages,
              (SELECT array_agg(pipeline_name ORDER BY pipeline_name) FROM etl.etl_outbox) AS events`,
    )
    return row!
  }
  const api = spawnVitrina(
    ['api'],
    { DATABASE_URL: database.url, VITRINA_PORT: '0', RUNS_RETENTION_DAYS: '3' },
    { cwd: await aFolder() },
  )
  await api.waitForOutput(/API\s+http/)
  const expected = ['dead since yesterday', 'last breach', 'last failure', 'pending', 'young']
  await waitFor(
    async () => {
      const { messages, events } = await left()
      return messages.length === expected.length && events.length === expected.length
    },
    { what: 'old notifications to be deleted' },
  )
  expect(await left()).toEqual({ messages: expected, events: expected })
})

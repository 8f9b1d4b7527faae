import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anApi, type TestApi, TOKEN } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { openStream, type SseClient } from '../../../tests/support/sse.js'
import { waitFor } from '../../../tests/support/wait.js'
import { eventGapWire, liveEventWire } from './event.js'

let database: TestDatabase
let api: TestApi
let client: SseClient
beforeAll(async () => {
  database = await aDatabase()
  api = anApi(database.loginUrl('meta'))
  await api.app.listen({ host: '127.0.0.1', port: 0 })
  client = await openStream(api.app, { authorization: `Bearer ${TOKEN}` })
})
afterAll(async () => {
  client.close()
})

interface Scene {
  readonly pipeline: string
  readonly run: string
}

interface Case {
  /** Writes rows before the other triggers are disabled. */
  readonly given?: (scene: Scene) => Promise<unknown>
  readonly fire: (scene: Scene) => Promise<unknown>
  /** The kinds of the events, in order. */
  readonly emits: readonly string[]
}

const change = (sets: string, id: string) =>
  database.query(`UPDATE etl.etl_pipelines SET ${sets} WHERE id = $1`, [id])
const changeRun = (sets: string, id: string) =>
  database.query(`UPDATE etl.etl_runs SET ${sets} WHERE id = $1`, [id])

const addBatch = (run: string) =>
  database.query(
    `INSERT INTO etl.etl_run_batches (run_id, batch, attempt, step, rows_read, rows_inserted, rows_updated, rows_unchanged,
       rows_deleted, rows_quarantined, rows_duplicate, first_key, last_key, duration_ms)
     VALUES ($1, 1, 1, 'full', 9, 1, 2, 3, 0, 2, 1, 'a', 'b', 3.5)`,
    [run],
  )

const addComparison = (pipeline: string) =>
  database.query(
    `INSERT INTO etl.etl_comparisons (pipeline_id, deep, duration_ms, config_version, matches, source_rows, target_rows)
     VALUES ($1, true, 12.5, 1, false, 10, 9)`,
    [pipeline],
  )

const addResult = (pipeline: string, run: string | null, status: string) =>
  database.query(
    `INSERT INTO etl.etl_check_results (pipeline_id, run_id, check_name, check_type, scope, on_failure, status, failed_rows, message)
     VALUES ($1, $2, 'rating_range', 'range', 'batch', 'warn', $3, 1, 'rating is less than 0.')`,
    [pipeline, run, status],
  )

/** How to fire each trigger that emits events; with every field both null and set, where it may be null. */
const CASES: Readonly<Record<string, Case>> = {
  tell_of_pipeline: {
    fire: async () => {
      const { id } = await aPipeline(database)
      await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [id])
    },
    emits: ['pipeline.created', 'pipeline.deleted'],
  },
  tell_of_change: {
    fire: async ({ pipeline }) => {
      await change("description = 'another', enabled = false", pipeline)
      await change("next_run_at = now() + interval '1 hour'", pipeline)
      await change("status = 'RUNNING'", pipeline)
      await change("status = 'IDLE', current_run_id = NULL, next_run_at = NULL", pipeline)
    },
    emits: ['pipeline.changed', 'pipeline.status', 'pipeline.status'],
  },
  tell_of_schedule: {
    fire: async ({ pipeline }) => {
      await change("next_run_at = now() + interval '1 hour'", pipeline)
      await change('next_run_at = NULL', pipeline)
    },
    emits: ['pipeline.scheduled', 'pipeline.scheduled'],
  },
  tell_of_comparison: {
    fire: async ({ pipeline }) => {
      await addComparison(pipeline)
      await database.query(
        'UPDATE etl.etl_comparisons SET deep = false, at = now(), matches = true WHERE pipeline_id = $1',
        [pipeline],
      )
    },
    emits: ['pipeline.compared', 'pipeline.compared'],
  },
  tell_of_failed_check: {
    fire: async ({ pipeline, run }) => {
      await addResult(pipeline, run, 'passed')
      await addResult(pipeline, null, 'warned')
    },
    emits: ['check.failed'],
  },
  tell_of_check_that_fails_now: {
    given: ({ pipeline, run }) => addResult(pipeline, run, 'passed'),
    fire: async ({ run }) => {
      await database.query("UPDATE etl.etl_check_results SET status = 'error' WHERE run_id = $1", [run])
      await database.query('UPDATE etl.etl_check_results SET failed_rows = 2 WHERE run_id = $1', [run])
    },
    emits: ['check.failed'],
  },
  tell_of_quarantine: {
    given: ({ pipeline, run }) =>
      database.query(
        `INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason)
         VALUES ($1, $2, '1', '{id}', '{1}', 'too long')`,
        [pipeline, run],
      ),
    fire: ({ pipeline }) =>
      database.query("UPDATE etl.etl_quarantine SET status = 'REPLAY_REQUESTED' WHERE pipeline_id = $1", [
        pipeline,
      ]),
    emits: ['quarantine.settled'],
  },
  tell_of_new_run: {
    fire: async () => {
      const { id } = await aPipeline(database)
      await change("status = 'RUN_REQUESTED'", id)
    },
    emits: ['run.status'],
  },
  tell_of_run: {
    fire: async ({ run }) => {
      await changeRun("status = 'RUNNING', attempt = 1, runner_id = 'runner-1'", run)
      const by = { reason: 'an open transaction', pid: 1, since: '2026-11-15T11:49:41.642113Z' }
      await changeRun(`held_back = '${JSON.stringify(by)}'`, run)
      await changeRun("error = 'it failed', error_code = 'VTR-4102'", run)
    },
    emits: ['run.status', 'run.status', 'run.status'],
  },
  notify_of_breach: {
    given: ({ pipeline }) =>
      database.query('INSERT INTO etl.etl_freshness (pipeline_id, budget_seconds) VALUES ($1, 60)', [
        pipeline,
      ]),
    fire: ({ pipeline }) =>
      database.query(
        `UPDATE etl.etl_freshness SET breached_at = now(), cause = '{"code": "DISABLED"}' WHERE pipeline_id = $1`,
        [pipeline],
      ),
    emits: ['pipeline.freshness'],
  },
  tell_of_stalled_run: {
    fire: ({ run }) => changeRun('stalled_since = now()', run),
    emits: ['run.stalled'],
  },
  tell_of_batch: {
    fire: async ({ run }) => {
      await addBatch(run)
      await database.query(
        'UPDATE etl.etl_run_batches SET read_ms = 1, transform_ms = 0.5, write_ms = 2, checkpoint_ms = 0.1 WHERE run_id = $1',
        [run],
      )
    },
    emits: ['run.batch', 'run.batch'],
  },
}

interface Trigger {
  readonly name: string
  readonly table: string
  readonly body: string
}

/** Read from the database: a trigger that a migration adds needs a case here. */
function emitters(): Promise<Trigger[]> {
  return database.query<Trigger & Record<string, unknown>>(
    `SELECT t.tgname AS name, t.tgrelid::regclass::text AS table, f.prosrc AS body
       FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
      WHERE NOT t.tgisinternal AND f.prosrc LIKE '%etl.emit(%' ORDER BY t.tgname`,
  )
}

async function aScene(): Promise<Scene> {
  const { id } = await aPipeline(database)
  await change("status = 'RUN_REQUESTED'", id)
  const [row] = await database.query<{ run: string }>(
    'SELECT current_run_id AS run FROM etl.etl_pipelines WHERE id = $1',
    [id],
  )
  return { pipeline: id, run: row!.run }
}

/** All of them, so that an event can only come from one trigger. */
async function only(name: string | null): Promise<void> {
  for (const trigger of await emitters()) {
    const isOn = name === null || trigger.name === name
    await database.query(
      `ALTER TABLE ${trigger.table} ${isOn ? 'ENABLE' : 'DISABLE'} TRIGGER ${trigger.name}`,
    )
  }
}

/** Numbered when they are delivered: every event that was committed so far. */
async function lastNumber(): Promise<number> {
  return waitFor(
    async () => {
      const [row] = await database.query<{ unnumbered: number; last: number }>(
        'SELECT count(*) FILTER (WHERE seq IS NULL)::int AS unnumbered, coalesce(max(seq), 0)::int AS last FROM etl.etl_events',
      )
      return row!.unnumbered === 0 ? { last: row!.last } : null
    },
    { what: 'all events to be numbered' },
  ).then(({ last }) => last)
}

const contractKinds = liveEventWire.options.map(({ shape }) => shape.kind.value)
const seen = new Set<string>()

describe('the contract of live events', () => {
  it('has a case for every trigger that emits events', async () => {
    expect((await emitters()).map(({ name }) => name)).toEqual(Object.keys(CASES).toSorted())
  })

  for (const [name, { given, fire, emits }] of Object.entries(CASES))
    it(`holds for the trigger ${name}`, async () => {
      const scene = await aScene()
      await given?.(scene)
      const before = await lastNumber()
      await only(name)
      try {
        await fire(scene)
      } finally {
        await only(null)
      }
      const last = await lastNumber()
      expect(last - before).toBe(emits.length)
      await client.waitFor('its events', (events) => events.some(({ id }) => id === last))
      const events = client.events.filter(({ id }) => id > before && id <= last)
      expect(events.map(({ event }) => event)).toEqual(emits)
      for (const { id, event, data } of events) {
        expect(liveEventWire.parse(data)).toEqual(data)
        expect(data).toMatchObject({ seq: id, kind: event })
        seen.add(event)
      }
    })

  it('holds for the event that reports a gap', async () => {
    const other = await openStream(api.app, {
      authorization: `Bearer ${TOKEN}`,
      'last-event-id': '999999999',
    })
    await other.waitFor('the gap', (events) => events.length > 0)
    other.close()
    expect(other.events[0]?.event).toBe('gap')
    expect(eventGapWire.parse(other.events[0]?.data)).toEqual(other.events[0]?.data)
  })

  it('has no kind that is never emitted, and every kind that a trigger can emit', async () => {
    const bodies = (await emitters()).map(({ body }) => body).join('\n')
    const written = [...bodies.matchAll(/etl\.emit\('([^']+)'/g)].map(([, kind]) => kind)
    expect(new Set(written)).toEqual(new Set(contractKinds))
    expect(seen).toEqual(new Set(contractKinds))
  })
})

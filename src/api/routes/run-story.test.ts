import { describe, expect, it } from 'vitest'
import { anApi } from '../../../tests/support/api.js'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { aRunner } from '../../../tests/support/runner.js'
import { run } from '../../../tests/support/runs.js'

async function anEmptyStand(options?: { cinema: boolean }) {
  const database = await aDatabase(options)
  const api = anApi(database.loginUrl('meta'))
  return { database, api }
}

/** Runs that ended on these days of January, with these statuses. */
async function pastRuns(
  database: TestDatabase,
  pipelineId: string,
  runs: readonly [number, string, number][],
) {
  for (const [day, status, written] of runs)
    await database.query(
      `INSERT INTO etl.etl_runs (id, pipeline_id, status, requested_at, started_at, finished_at, rows_written, attempt)
       SELECT gen_random_uuid(), $1, $2, t, t, t + interval '1 s', $4, 1 FROM make_timestamptz(2026, 1, $3, 0, 0, 0, 'UTC') t`,
      [pipelineId, status, day, written],
    )
}

describe('the list of runs', () => {
  it('accepts several statuses, a time range and a pipeline, page by page', async () => {
    const { database, api } = await anEmptyStand()
    const { id } = await aPipeline(database)
    const other = await aPipeline(database)
    await pastRuns(database, id, [
      [1, 'SUCCESS', 1],
      [2, 'FAILED', 0],
      [3, 'CANCELLED', 0],
      [4, 'FAILED', 0],
      [5, 'SUCCESS', 1],
    ])
    await pastRuns(database, other.id, [[3, 'FAILED', 0]])
    const days = async (query: string) =>
      (await api.get(`/runs?${query}`))
        .json()
        .items.map((item: { requested_at: string }) => item.requested_at.slice(9, 10))
    expect(await days('status=FAILED,CANCELLED')).toEqual(['4', '3', '3', '2'])
    expect(await days(`status=FAILED&status=CANCELLED&pipeline_id=${id}`)).toEqual(['4', '3', '2'])
    expect(await days(`pipeline_id=${id}&since=2026-01-02T00:00:00Z&until=2026-01-04T00:00:00Z`)).toEqual([
      '3',
      '2',
    ])
    expect(await days('since=2026-01-05T01:00:00%2B01:00')).toEqual(['5'])
    const first = (await api.get(`/pipelines/${id}/runs?status=FAILED,SUCCESS&limit=3`)).json()
    const rest = (
      await api.get(`/pipelines/${id}/runs?status=FAILED,SUCCESS&limit=3&cursor=${first.next_cursor}`)
    ).json()
    expect([...first.items, ...rest.items].map(({ status }) => status)).toEqual([
      'SUCCESS',
      'FAILED',
      'FAILED',
      'SUCCESS',
    ])
    expect(rest.next_cursor).toBeNull()
  })

  it('names the part of a filter that is invalid', async () => {
    const { api } = await anEmptyStand()
    for (const [query, field] of [
      ['status=FAILED,WRONG', 'status.1'],
      ['since=yesterday', 'since'],
      ['until=2026-13-01T00:00:00Z', 'until'],
    ]) {
      const answer = await api.get(`/runs?${query}`)
      expect(answer.statusCode).toBe(422)
      expect(answer.json().errors[0].field).toBe(field)
    }
  })
})

describe('a run', () => {
  it('has its neighbours, and what its pipeline usually writes', async () => {
    const { database, api } = await anEmptyStand()
    const { id } = await aPipeline(database)
    await pastRuns(database, id, [
      [1, 'SUCCESS', 10],
      [2, 'SUCCESS', 500],
      [3, 'FAILED', 0],
      [4, 'SUCCESS', 700],
      [5, 'SUCCESS', 0],
    ])
    const runs = (await api.get(`/runs?pipeline_id=${id}`)).json().items
    const [last, before, failed] = await Promise.all(
      runs.slice(0, 3).map(async (each: { id: string }) => (await api.get(`/runs/${each.id}`)).json()),
    )
    expect(last).toMatchObject({ usual_rows_written: 500, previous_run_id: before.id, next_run_id: null })
    // Two successful runs define nothing.
    expect(failed).toMatchObject({ usual_rows_written: null, next_run_id: before.id })
  })

  it('is expected to read as much as the last full run before it', async () => {
    const { database, api } = await anEmptyStand()
    const { id } = await aPipeline(database)
    await pastRuns(database, id, [
      [1, 'SUCCESS', 10],
      [2, 'SUCCESS', 1],
      [3, 'FAILED', 0],
      [4, 'SUCCESS', 20],
    ])
    const addRun = (day: number, strategy: string, read: number) =>
      database.query(
        `UPDATE etl.etl_runs SET strategy = $2, rows_read = $3
          WHERE pipeline_id = $4 AND requested_at = make_timestamptz(2026, 1, $1, 0, 0, 0, 'UTC')`,
        [day, strategy, read, id],
      )
    await addRun(1, 'sql_full', 1200)
    await addRun(2, 'sql_incremental', 3)
    await addRun(3, 'sql_full', 7)
    await addRun(4, 'sql_full', 1300)
    const runs = (await api.get(`/runs?pipeline_id=${id}`)).json().items
    const expected = await Promise.all(
      runs.map(async (each: { id: string }) => (await api.get(`/runs/${each.id}`)).json().expected_rows_read),
    )
    expect(expected).toEqual([1200, 1200, null, null])
  })

  it('keeps the error of each attempt, and its log lines separately', async () => {
    const { database, api } = await anEmptyStand({ cinema: true })
    // The mart rejects every batch with a temporary error.
    const { id, spec } = await aPipeline(database)
    await aRunner(database, { retryWaitsMs: [10] })
    expect((await run(database, id)).status).toBe('SUCCESS')
    await database.query(`CREATE FUNCTION analytics.refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'come back later' USING ERRCODE = '40001'; END $$`)
    await database.query(
      `CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON ${spec.targetTable} EXECUTE FUNCTION analytics.refuse()`,
    )
    const failed = await run(database, id)
    expect(failed).toMatchObject({ status: 'FAILED', attempt: 3 })
    const detail = (await api.get(`/runs/${failed.id}`)).json()
    expect(detail.attempt_history).toHaveLength(2)
    for (const [n, past] of detail.attempt_history.entries())
      expect(past).toMatchObject({
        attempt: n + 1,
        end: 'failed',
        runner_id: detail.runner_id,
        error: expect.stringContaining('come back later'),
        error_code: detail.error_code,
        error_hint: detail.error_hint,
      })
    const lines = async (query: string) => (await api.get(`/runs/${failed.id}/log?${query}`)).json().items
    await expect.poll(() => lines('errors_only=true')).toHaveLength(3)
    const second = await lines('attempt=2')
    expect(second.map(({ message }: { message: string }) => message)).toEqual([
      'Run planned.',
      'Attempt failed, retrying.',
    ])
  })

  it('reports where the time of each batch went', async () => {
    const { database, api } = await anEmptyStand({ cinema: true })
    const { id } = await aPipeline(database, { batchSize: 30 })
    await aRunner(database)
    const done = await run(database, id)
    const { batch_history: batches } = (await api.get(`/runs/${done.id}`)).json()
    expect(batches.length).toBeGreaterThan(1)
    for (const batch of batches) {
      // The query is read once, for all batches: its time is that of the first.
      expect(batch).toMatchObject({
        read_ms: batch.batch === 1 ? expect.any(Number) : null,
        transform_ms: null,
      })
      expect(batch.write_ms).toBeGreaterThan(0)
      expect(batch.checkpoint_ms).toBeGreaterThan(0)
      expect(batch.write_ms + batch.checkpoint_ms).toBeLessThanOrEqual(batch.duration_ms)
    }
  })
})

describe('the log of a run', () => {
  it('is searched by the server, in messages and fields, and downloaded as text', async () => {
    const { database, api } = await anEmptyStand()
    const { id } = await aPipeline(database)
    await pastRuns(database, id, [[1, 'SUCCESS', 1]])
    const [{ id: runId }] = (await api.get('/runs')).json().items
    await database.query(
      `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
       SELECT $1, '2026-01-01Z'::timestamptz + n * interval '1 s', CASE n % 500 WHEN 0 THEN 'warn' ELSE 'info' END,
              'Batch ' || n || ' done.', jsonb_build_object('attempt', 1 + n / 2000, 'key', 'Key-' || n)
         FROM generate_series(1, 2500) n`,
      [runId],
    )
    const found = (await api.get(`/runs/${runId}/log?q=kEY-2345`)).json().items
    expect(found.map(({ message }: { message: string }) => message)).toEqual(['Batch 2345 done.'])
    expect((await api.get(`/runs/${runId}/log?q=%25`)).json().items).toEqual([])
    const end = (await api.get(`/runs/${runId}/log?last=true&limit=2`)).json()
    const older = (await api.get(`/runs/${runId}/log?last=true&limit=2&cursor=${end.next_cursor}`)).json()
    expect([...older.items, ...end.items].map(({ fields }) => fields.key)).toEqual([
      'Key-2497',
      'Key-2498',
      'Key-2499',
      'Key-2500',
    ])
    const line = end.items[0].id
    const around = (await api.get(`/runs/${runId}/log?last=true&limit=2&before=${line}`)).json()
    expect(around.items.map(({ fields }: { fields: { key: string } }) => fields.key)).toEqual([
      'Key-2497',
      'Key-2498',
    ])
    const text = await api.get(`/runs/${runId}/log.txt`)
    expect(text.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(text.headers['content-disposition']).toBe(`attachment; filename="run-${runId}.log"`)
    const lines = text.body.trimEnd().split('\n')
    expect(lines).toHaveLength(2500)
    expect(lines[499]).toBe('2026-01-01T00:08:20.000000Z WARN Batch 500 done. {"key":"Key-500","attempt":1}')
    await database.query(
      "UPDATE etl.etl_run_log SET message = E'good\\n2026-01-01 INFO faked\\r\\x1b[2J' WHERE run_id = $1 AND message = 'Batch 2499 done.'",
      [runId],
    )
    const hostile = (await api.get(`/runs/${runId}/log.txt`)).body.trimEnd().split('\n')
    expect([hostile.length, hostile[2498]]).toEqual([
      2500,
      expect.stringContaining('good\\u000a2026-01-01 INFO faked\\u000d\\u001b[2J'),
    ])
    const some = await api.get(`/runs/${runId}/log.txt?errors_only=true&attempt=2&q=batch`)
    expect(some.body.trimEnd().split('\n')).toHaveLength(2)
    expect((await api.get('/runs/11111111-1111-1111-1111-111111111111/log.txt')).statusCode).toBe(404)
  })
})

import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { aPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { isTransition, PIPELINE_STATUSES, type PipelineStatus, TRANSITIONS } from '../model/status.js'

/** How plain SQL brings a new pipeline to each status. */
const WAYS: Record<PipelineStatus, readonly PipelineStatus[]> = {
  IDLE: [],
  RUN_REQUESTED: ['RUN_REQUESTED'],
  RUNNING: ['RUN_REQUESTED', 'RUNNING'],
  PAUSE_REQUESTED: ['RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED'],
  PAUSED: ['RUN_REQUESTED', 'RUNNING', 'PAUSE_REQUESTED', 'PAUSED'],
  FAILED: ['RUN_REQUESTED', 'RUNNING', 'FAILED'],
}

let database: TestDatabase
beforeAll(async () => {
  database = await aDatabase()
})

async function move(id: string, status: string): Promise<void> {
  await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
}

async function aPipelineIn(status: PipelineStatus): Promise<string> {
  const { id } = await aPipeline(database)
  for (const step of WAYS[status]) await move(id, step)
  return id
}

async function statusOf(id: string): Promise<string | undefined> {
  const [row] = await database.query<{ status: string }>(
    'SELECT status FROM etl.etl_pipelines WHERE id = $1',
    [id],
  )
  return row?.status
}

async function runsOf(id: string) {
  return database.query<{ id: string; status: string; error: string | null; finished: boolean }>(
    'SELECT id, status, error, finished_at IS NOT NULL AS finished FROM etl.etl_runs WHERE pipeline_id = $1 ORDER BY requested_at',
    [id],
  )
}

describe('R3.1 a pipeline moved by plain SQL', () => {
  for (const from of PIPELINE_STATUSES) {
    for (const to of PIPELINE_STATUSES.filter((status) => status !== from)) {
      const legal = isTransition(from, to)
      it(`${legal ? 'may' : 'cannot'} go from ${from} to ${to}`, async () => {
        const id = await aPipelineIn(from)
        const moved = move(id, to)
        if (legal) await moved
        else
          await expect(moved).rejects.toMatchObject({
            code: 'VT001',
            hint: expect.stringContaining('Allowed'),
          })
        expect(await statusOf(id)).toBe(legal ? to : from)
      })
    }
  }

  it('cannot get a status that does not exist', async () => {
    const id = await aPipelineIn('RUNNING')
    await expect(move(id, 'DONE')).rejects.toMatchObject({ code: expect.stringMatching(/VT001|23514/) })
  })

  it.each(PIPELINE_STATUSES)('can be set to %s again without an effect', async (status) => {
    const id = await aPipelineIn(status)
    const before = await runsOf(id)
    await move(id, status)
    expect(await runsOf(id)).toEqual(before)
  })

  it.each(PIPELINE_STATUSES.filter((status) => status !== 'IDLE'))(
    'cannot be created as %s',
    async (status) => {
      const values = [randomUUID(), status]
      const insert = database.query(
        "INSERT INTO etl.etl_pipelines (name, target_table, status) VALUES ($1, 'analytics.t', $2)",
        values,
      )
      await expect(insert).rejects.toMatchObject({ code: 'VT001' })
    },
  )
})

describe('the database and the model', () => {
  it('have the same transitions', async () => {
    const legal = Object.values(TRANSITIONS).flatMap(({ from, to }) =>
      from.map((start) => `${start} → ${to}`),
    )
    const rows = await database.query<{ pair: string }>(
      `SELECT a || ' → ' || b AS pair FROM unnest($1::text[]) a, unnest($1::text[]) b WHERE etl.is_transition(a, b)`,
      [PIPELINE_STATUSES],
    )
    expect(rows.map(({ pair }) => pair).sort()).toEqual(legal.sort())
  })
})

describe('a transition', () => {
  it('to RUN_REQUESTED creates a run whose id is known at once', async () => {
    const id = await aPipelineIn('RUN_REQUESTED')
    const [pipeline] = await database.query<{ current_run_id: string }>(
      'SELECT current_run_id FROM etl.etl_pipelines WHERE id = $1',
      [id],
    )
    expect(await runsOf(id)).toMatchObject([
      { id: pipeline?.current_run_id, status: 'REQUESTED', finished: false },
    ])
  })

  it.each([
    ['IDLE', 'CANCELLED'],
    ['FAILED', 'FAILED'],
  ])('by hand from RUNNING to %s closes the run as %s and fences its runner off', async (to, runStatus) => {
    const id = await aPipelineIn('RUNNING')
    const fence = async () =>
      (await database.query<{ fence: string }>('SELECT fence FROM etl.etl_pipelines WHERE id = $1', [id]))[0]
        ?.fence
    const before = await fence()
    await move(id, to)
    expect(await runsOf(id)).toMatchObject([
      { status: runStatus, error: expect.stringContaining('by hand'), finished: true },
    ])
    expect(Number(await fence())).toBe(Number(before) + 1)
  })

  it('creates a new run for every new request', async () => {
    const id = await aPipelineIn('FAILED')
    await move(id, 'RUN_REQUESTED')
    expect((await runsOf(id)).map((run) => run.status)).toEqual(['FAILED', 'REQUESTED'])
  })
})

describe('R5.2 the configuration of a pipeline', () => {
  const change = (id: string, column: string, value: unknown) =>
    database.query(`UPDATE etl.etl_pipelines SET ${column} = $2 WHERE id = $1`, [id, value])

  it.each([
    ['source_query', 'SELECT 1'],
    ['target_table', 'analytics.other'],
    ['mode', 'incremental'],
    ['incremental_key', 'modified'],
    ['key_columns', ['other']],
  ])('cannot change its %s while it is running', async (column, value) => {
    for (const status of ['RUNNING', 'PAUSE_REQUESTED'] as const) {
      const id = await aPipelineIn(status)
      await expect(change(id, column, value)).rejects.toMatchObject({
        code: 'VT002',
        hint: expect.stringContaining('Pause'),
      })
    }
  })

  it('may change its batch size while it is running, and every change is a new version', async () => {
    const id = await aPipelineIn('RUNNING')
    await change(id, 'batch_size', 10)
    await change(id, 'batch_size', 10)
    await change(id, 'batch_size', 20)
    const [row] = await database.query<{ config_version: number }>(
      'SELECT config_version FROM etl.etl_pipelines WHERE id = $1',
      [id],
    )
    expect(row?.config_version).toBe(3)
  })

  it('has a state from the start, and everything is deleted with it', async () => {
    const id = await aPipelineIn('FAILED')
    const count = async (table: string) =>
      (await database.query(`SELECT FROM etl.${table} WHERE pipeline_id = $1`, [id])).length
    expect([await count('etl_state'), await count('etl_runs')]).toEqual([1, 1])
    await database.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [id])
    expect([await count('etl_state'), await count('etl_runs')]).toEqual([0, 0])
  })
})

import { describe, expect, it } from 'vitest'
import { aPipeline, type BuiltPipeline } from '../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { aRunner } from '../../tests/support/runner.js'
import { run } from '../../tests/support/runs.js'
import { readSettings } from '../config/settings.js'
import { SqlGuard } from '../guard/index.js'
import type { Pipeline } from '../model/pipeline.js'
import { createTransforms } from '../transforms/index.js'
import { MartReconciler } from './reconciler.js'

const QUERY = 'SELECT id, film_id, user_id, rating, modified FROM ugc.ratings'

/** A filled mart of ratings, and what a comparison says of it. */
async function aMart(overrides: Parameters<typeof aPipeline>[1] = {}) {
  const database = await aDatabase({ cinema: true })
  const built = await aPipeline(database, {
    sourceQuery: QUERY,
    targetTable: 'analytics.ratings',
    keyColumns: ['id'],
    ...overrides,
  })
  await aRunner(database)
  expect((await run(database, built.id)).status).toBe('SUCCESS')
  return {
    database,
    built,
    compare: () => deepCompare(database, built),
  }
}

function deepCompare(database: TestDatabase, { id, spec }: BuiltPipeline) {
  const reconciler = new MartReconciler({
    guard: new SqlGuard({ sourceSchemas: ['content', 'ugc'] }),
    readerUrl: database.loginUrl('reader'),
    martUrl: database.loginUrl('meta'),
    connections: new Map(),
    targets: { tables: ['analytics.*'], kinds: [] },
    transforms: createTransforms(readSettings({ VITRINA_PYTHON_TASKS: '/nowhere' })),
  })
  const pipeline = {
    ...spec,
    id,
    tasks: [],
    status: 'IDLE',
    configVersion: 1,
    managedBy: 'api',
    createdAt: '',
    updatedAt: '',
  } as Pipeline
  return reconciler.compare(pipeline, {
    deep: true,
    sampleSize: 10,
    signal: new AbortController().signal,
  })
}

describe('R5.5 reconcile', () => {
  it('finds no drift in a mart that was just filled', async () => {
    const { compare } = await aMart()
    const result = await compare()
    expect(result).toMatchObject({
      matches: true,
      source: { count: 4000 },
      target: { count: 4000 },
      controlField: 'id',
    })
    expect(result.deep).toMatchObject({ missing: { count: 0 }, extra: { count: 0 }, different: { count: 0 } })
  })

  it('names exactly the rows that other sessions deleted, changed and added', async () => {
    const { database, compare } = await aMart()
    const ids = (
      await database.query<{ id: string }>('SELECT id FROM analytics.ratings ORDER BY id LIMIT 7')
    ).map((row) => row.id)
    await database.query('DELETE FROM analytics.ratings WHERE id = ANY($1)', [ids.slice(0, 3)])
    await database.query('UPDATE analytics.ratings SET rating = rating + 1 WHERE id = ANY($1)', [
      ids.slice(3, 5),
    ])
    await database.query(
      'INSERT INTO analytics.ratings SELECT gen_random_uuid(), film_id, user_id, rating, modified FROM analytics.ratings WHERE id = ANY($1)',
      [ids.slice(5)],
    )
    const { matches, deep } = await compare()
    expect(matches).toBe(false)
    expect(deep).toMatchObject({ missing: { count: 3 }, extra: { count: 2 }, different: { count: 2 } })
    expect(deep!.missing.keys.flat().sort()).toEqual(ids.slice(0, 3).sort())
    expect(deep!.different.keys.flat().sort()).toEqual(ids.slice(3, 5).sort())
  })
})

describe('a repair run', () => {
  it('repairs only the rows it was given', async () => {
    const { database, built, compare } = await aMart()
    const ids = (
      await database.query<{ id: string }>('SELECT id FROM analytics.ratings ORDER BY id LIMIT 4')
    ).map((row) => row.id)
    await database.query('DELETE FROM analytics.ratings WHERE id = $1', [ids[0]])
    await database.query('UPDATE analytics.ratings SET rating = rating + 1 WHERE id = ANY($1)', [
      ids.slice(1),
    ])
    const stranger = (
      await database.query<{ id: string }>(
        'INSERT INTO analytics.ratings SELECT gen_random_uuid(), film_id, user_id, rating, modified FROM analytics.ratings LIMIT 1 RETURNING id',
      )
    )[0]!.id
    const client = await database.client()
    await client.query('BEGIN')
    await client.query("SELECT set_config('vitrina.trigger', 'repair', true)")
    const { rows } = await client.query(
      "UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1 RETURNING current_run_id",
      [built.id],
    )
    for (const id of [ids[0], ids[1], ids[2], stranger])
      await client.query('INSERT INTO etl.etl_repairs (run_id, key) VALUES ($1, $2)', [
        rows[0].current_run_id,
        [id],
      ])
    await client.query('COMMIT')
    const { runEnded } = await import('../../tests/support/runs.js')
    expect(await runEnded(database, rows[0].current_run_id)).toMatchObject({
      status: 'SUCCESS',
      rows_inserted: 1,
      rows_updated: 2,
      rows_deleted: 1,
    })
    expect((await compare()).deep).toMatchObject({
      missing: { count: 0 },
      extra: { count: 0 },
      different: { count: 1, keys: [[ids[3]]] },
    })
  })
})

import { describe, expect, it } from 'vitest'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aRunner } from '../support/runner.js'
import { type RunRow, run } from '../support/runs.js'

/** Tables whose keys are of different types; the values of the last ones are far apart and far from even. */
const KEYS = {
  integer: { key: ['id'], columns: 'n * n AS id', primary: 'id' },
  uuid: { key: ['id'], columns: 'md5(n::text)::uuid AS id', primary: 'id' },
  text: { key: ['id'], columns: "repeat('ä', n % 3) || md5(n::text) AS id", primary: 'id' },
  composite: { key: ['a', 'b'], columns: 'n % 5 AS a, md5(n::text) AS b', primary: 'a, b' },
} as const
type Kind = keyof typeof KEYS

const ROWS = 3_000
const WAYS = ['pushdown', 'relay', 'rows'] as const

async function aSource(kind: Kind): Promise<{ main: TestDatabase; warehouse: TestDatabase }> {
  const main = await aDatabase()
  const warehouse = await aDatabase({ migrated: false })
  const { columns, primary } = KEYS[kind]
  await main.query(`
    CREATE SCHEMA IF NOT EXISTS content;
    CREATE TABLE content.thing AS SELECT ${columns}, 'value ' || n AS value, n::numeric / 7 AS amount FROM generate_series(1, ${ROWS}) AS n;
    ALTER TABLE content.thing ADD PRIMARY KEY (${primary});
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
    ANALYZE content.thing`)
  await warehouse.query('CREATE SCHEMA IF NOT EXISTS analytics')
  return { main, warehouse }
}

async function contentOf(database: TestDatabase, table: string): Promise<string> {
  const [row] = await database.query<{ signature: string }>(
    `SELECT count(*) || ' ' || md5(string_agg(t::text, E'\\n' ORDER BY t::text)) AS signature FROM ${table} AS t`,
  )
  return row!.signature
}

interface Runs {
  readonly first: RunRow
  readonly again: RunRow
  readonly mart: string
}

describe.each(Object.keys(KEYS) as Kind[])(
  'a mart with a key of type %s is the same in any number of parts',
  (kind) => {
    it.each(WAYS)('%s', async (way) => {
      const { main, warehouse } = await aSource(kind)
      const target = way === 'pushdown' ? main : warehouse
      const env = { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url }
      await aRunner(main, { env, ...(way === 'rows' ? { way } : {}) })
      const source = await contentOf(main, 'content.thing')
      for (const [parallelism, parts] of [
        [1, 0],
        [2, 2],
        [4, 4],
        [null, 0],
      ] as const)
        for (const fullStrategy of ['upsert', 'replace'] as const) {
          const table = `analytics.${kind}_${parallelism ?? 'auto'}_${fullStrategy}`
          const runs = await fill(
            { main, target },
            {
              sourceQuery: 'SELECT * FROM content.thing',
              targetTable: table,
              targetConnection: way === 'pushdown' ? null : 'warehouse',
              keyColumns: [...KEYS[kind].key],
              parallelism,
              fullStrategy,
            },
          )
          const rows = {
            status: 'SUCCESS',
            error: null,
            parts_total: parts,
            parts_done: parts,
            rows_read: ROWS,
            rows_deleted: 0,
          }
          expect(runs.first).toMatchObject({ ...rows, rows_inserted: ROWS, rows_updated: 0 })
          expect(runs.again).toMatchObject({ ...rows, rows_unchanged: ROWS, rows_written: 0 })
          expect(runs.mart).toBe(source)
        }
    })
  },
)

async function fill(
  { main, target }: { main: TestDatabase; target: TestDatabase },
  spec: PipelineOverrides,
): Promise<Runs> {
  const { id } = await aPipeline(main, spec)
  const first = await run(main, id)
  const again = await run(main, id)
  return { first, again, mart: await contentOf(target, spec.targetTable!) }
}

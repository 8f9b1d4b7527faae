import { describe, expect, it } from 'vitest'
import type { Check, OnFailure } from '../../src/model/check.js'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { onEveryRoute, rowTexts, type Stand } from '../support/stand.js'

interface Result {
  readonly check_name: string
  readonly status: string
  readonly failed_rows: number
  readonly sample: string[]
  readonly scope: string
  readonly message: string
  readonly observed: number | null
  readonly duration_ms: number
}

function resultsOf({ main }: Stand, runId: string): Promise<Result[]> {
  return main.query<Result & Record<string, unknown>>(
    'SELECT *, failed_rows::int FROM etl.etl_check_results WHERE run_id = $1 ORDER BY check_name',
    [runId],
  )
}

const QUERY = 'SELECT id, title, kind, amount, parent, at FROM content.items'
const ROWS = 2_000
let marts = 0

/** A source with a few bad rows, and tables that a relationship can name. */
async function items({ source, target }: Stand, poison: string): Promise<string> {
  marts += 1
  await source.query(`
    DROP TABLE IF EXISTS content.items;
    CREATE TABLE content.items (id int PRIMARY KEY, title text, kind text, amount numeric, parent int, at timestamptz NOT NULL);
    INSERT INTO content.items SELECT n, 'title ' || n, CASE n % 2 WHEN 0 THEN 'film' ELSE 'show' END, n, n % 10, now() - interval '1 day' + n * interval '1 second'
      FROM generate_series(1, ${ROWS}) n;
    ${poison};
    CREATE INDEX ON content.items (at, id);
    ANALYZE content.items`)
  await target.query(`
    DROP TABLE IF EXISTS analytics.parents;
    CREATE TABLE analytics.parents AS SELECT n AS id FROM generate_series(0, 9) n;
    GRANT SELECT ON analytics.parents TO PUBLIC`)
  return `analytics.checked_${marts}`
}

const BAD = 'WHERE id IN (7, 1999)'
const ROW_CHECKS: readonly (readonly [Record<string, unknown>, string, number[]])[] = [
  [{ type: 'not_null', column: 'title' }, `UPDATE content.items SET title = NULL ${BAD}`, [7, 1999]],
  [
    { type: 'accepted_values', column: 'kind', values: ['film', 'show'] },
    `UPDATE content.items SET kind = 'FILM' ${BAD}`,
    [7, 1999],
  ],
  [
    { type: 'range', column: 'amount', min: 0, max: ROWS },
    `UPDATE content.items SET amount = -0.01 ${BAD}`,
    [7, 1999],
  ],
  [
    { type: 'relationship', column: 'parent', to: 'analytics.parents', to_column: 'id' },
    `UPDATE content.items SET parent = 10 ${BAD}`,
    [7, 1999],
  ],
  [
    { type: 'unique', column: 'title', over: 'batch' },
    "UPDATE content.items SET title = 'twin' WHERE id IN (7, 8)",
    [7, 8],
  ],
  [
    { type: 'expression', sql: 'amount > 0 -- never negative' },
    `UPDATE content.items SET amount = -1 ${BAD}`,
    [7, 1999],
  ],
]

function check(definition: Record<string, unknown>, onFailure: OnFailure, name = 'bad_rows'): Check {
  return { name, ...definition, on_failure: onFailure } as unknown as Check
}

const without = (ids: readonly number[]) => `${QUERY} WHERE id NOT IN (${ids.join(', ')})`

/** Passes in pages, over every row at once, in parts, and of changed rows. */
const SHAPES: readonly (readonly [string, Partial<PipelineSpec>])[] = [
  ['in pages', { batchSize: 500 }],
  [
    'read once',
    {
      batchSize: 500,
      sourceQuery: 'SELECT id, title, kind, amount, parent, at FROM content.items GROUP BY 1, 2, 3, 4, 5, 6',
    },
  ],
  [
    'in one statement',
    {
      sourceQuery: 'SELECT id, title, kind, amount, parent, at FROM content.items GROUP BY 1, 2, 3, 4, 5, 6',
    },
  ],
  ['replaced', { fullStrategy: 'replace' }],
  ['in parts', { parallelism: 3 }],
  ['replaced in parts', { fullStrategy: 'replace', parallelism: 3 }],
  [
    'incremental by key',
    { mode: 'incremental', incrementalKey: 'at', incrementalIdKey: 'id', batchSize: 500 },
  ],
  ['incremental by row versions', { mode: 'incremental', capture: 'xmin', batchSize: 500 }],
]

onEveryRoute((stand) => {
  describe.each(ROW_CHECKS)('%j', (definition, poison, bad) => {
    it('warn: writes every row and records those that fail', async () => {
      const mart = await items(stand(), poison)
      const checks = [check(definition, 'warn')]
      const { id } = await stand().pipeline({ sourceQuery: QUERY, targetTable: mart, batchSize: 500, checks })
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'SUCCESS', error: null, rows_read: ROWS, rows_quarantined: 0 })
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual(
        await rowTexts(stand().source, QUERY),
      )
      expect(await resultsOf(stand(), run.id)).toMatchObject([
        {
          check_name: 'bad_rows',
          status: 'warned',
          failed_rows: bad.length,
          sample: bad.map(String),
          scope: 'batch',
        },
      ])
    })

    it('fail: ends the run, rolls the batch back, and keeps the result', async () => {
      const mart = await items(stand(), poison)
      const checks = [check(definition, 'fail')]
      const { id } = await stand().pipeline({ sourceQuery: QUERY, targetTable: mart, batchSize: 500, checks })
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103', attempt: 1 })
      expect(run.error).toContain('"bad_rows"')
      expect(run.error).toContain('(7)')
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual([])
      const [result] = await resultsOf(stand(), run.id)
      const first = bad.filter((row) => row <= 500)
      expect(result).toMatchObject({ status: 'failed', failed_rows: first.length, sample: first.map(String) })
    })

    it('quarantine: quarantines the rows with the name of the check and writes the others', async () => {
      const mart = await items(stand(), poison)
      const checks = [check(definition, 'quarantine')]
      const { id } = await stand().pipeline({ sourceQuery: QUERY, targetTable: mart, batchSize: 500, checks })
      const run = await stand().run(id)
      expect(run).toMatchObject({
        ...{ status: 'SUCCESS', error: null, rows_read: ROWS },
        ...{ rows_quarantined: bad.length, rows_inserted: ROWS - bad.length },
      })
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual(
        await rowTexts(stand().source, without(bad)),
      )
      const held = await stand().main.query(
        'SELECT row_key, check_name, reason, columns, row_text[1] AS id FROM etl.etl_quarantine AS q WHERE pipeline_id = $1 ORDER BY q.id',
        [id],
      )
      expect(held).toMatchObject(
        bad.map((row) => ({ row_key: String(row), check_name: 'bad_rows', id: String(row) })),
      )
      expect(held[0]?.reason).toMatch(/^Check "bad_rows" failed: /)
      expect(await resultsOf(stand(), run.id)).toMatchObject([
        { status: 'quarantined', failed_rows: bad.length, sample: bad.map(String) },
      ])
    })
  })

  describe.each(SHAPES)('%s', (_name, shape) => {
    const definition = { type: 'range', column: 'amount', min: 0 }
    const poison = `UPDATE content.items SET amount = -1 ${BAD}`
    const spec = (targetTable: string, onFailure: OnFailure): Partial<PipelineSpec> => ({
      sourceQuery: QUERY,
      targetTable,
      checks: [check(definition, onFailure)],
      ...shape,
    })

    it('writes good rows and records that the check passed', async () => {
      const mart = await items(stand(), 'SELECT 1')
      const { id } = await stand().pipeline(spec(mart, 'fail'))
      for (const _ of [1, 2]) {
        const run = await stand().run(id)
        expect(run).toMatchObject({ status: 'SUCCESS', error: null })
        expect(await resultsOf(stand(), run.id)).toMatchObject([
          { status: 'passed', failed_rows: 0, sample: [] },
        ])
      }
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual(
        await rowTexts(stand().source, QUERY),
      )
    })

    it('finds bad rows among those of a filled mart and leaves it untouched', async () => {
      const mart = await items(stand(), 'SELECT 1')
      const { id } = await stand().pipeline(spec(mart, 'fail'))
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS' })
      const before = await rowTexts(stand().target, `SELECT xmin, * FROM ${mart}`)
      await stand().source.query(`UPDATE content.items SET amount = -1, at = now() WHERE id IN (1999)`)
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103' })
      expect(await rowTexts(stand().target, `SELECT xmin, * FROM ${mart}`)).toEqual(before)
      expect(await resultsOf(stand(), run.id)).toMatchObject([
        { status: 'failed', failed_rows: 1, sample: ['1999'] },
      ])
    })

    it('quarantines bad rows, and writes them once they are corrected', async () => {
      const mart = await items(stand(), poison)
      const { id } = await stand().pipeline(spec(mart, 'quarantine'))
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'SUCCESS', error: null, rows_quarantined: 2 })
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual(
        await rowTexts(stand().source, without([7, 1999])),
      )
      const [result] = await resultsOf(stand(), run.id)
      expect(result).toMatchObject({ status: 'quarantined', failed_rows: 2 })
      expect(result?.sample.toSorted()).toEqual(['1999', '7'])
      await stand().source.query(`UPDATE content.items SET amount = 1 ${BAD}`)
      await stand().main.query(
        "UPDATE etl.etl_quarantine SET status = 'REPLAY_REQUESTED' WHERE pipeline_id = $1",
        [id],
      )
      const again = await stand().run(id)
      expect(again).toMatchObject({ status: 'SUCCESS', error: null, rows_quarantined: 0 })
      expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual(
        await rowTexts(stand().source, QUERY),
      )
    })
  })

  it('NULL passes every check but not_null', async () => {
    const mart = await items(
      stand(),
      'UPDATE content.items SET title = NULL, kind = NULL, amount = NULL, parent = NULL WHERE id IN (3, 4)',
    )
    const definitions = [
      { type: 'accepted_values', column: 'kind', values: ['film', 'show'] },
      { type: 'range', column: 'amount', min: 0, max: 1e9 },
      { type: 'relationship', column: 'parent', to: 'analytics.parents', to_column: 'id' },
      { type: 'unique', column: 'title', over: 'batch' },
      { type: 'unique', columns: ['title', 'kind'] },
      { type: 'expression', sql: 'amount > 0' },
      { type: 'expression', sql: 'amount > 0', over: 'mart' },
    ]
    const checks = definitions.map((definition, n) => check(definition, 'fail', `check_${n}`))
    const { id } = await stand().pipeline({ sourceQuery: QUERY, targetTable: mart, checks })
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'SUCCESS', error: null })
    const results = await resultsOf(stand(), run.id)
    expect(results.map(({ status }) => status)).toEqual(checks.map(() => 'passed'))
  })

  it('a row that fails several checks is quarantined once, under the first of them', async () => {
    const mart = await items(stand(), `UPDATE content.items SET amount = -1, title = NULL ${BAD}`)
    const checks = [
      check({ type: 'not_null', column: 'title' }, 'quarantine', 'first'),
      check({ type: 'range', column: 'amount', min: 0 }, 'quarantine', 'second'),
      check({ type: 'range', column: 'amount', max: 1900 }, 'warn', 'third'),
    ]
    const { id } = await stand().pipeline({ sourceQuery: QUERY, targetTable: mart, batchSize: 500, checks })
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'SUCCESS', rows_quarantined: 2, rows_inserted: ROWS - 2 })
    const held = await stand().main.query(
      'SELECT check_name FROM etl.etl_quarantine WHERE pipeline_id = $1',
      [id],
    )
    expect(held).toEqual([{ check_name: 'first' }, { check_name: 'first' }])
    expect(await resultsOf(stand(), run.id)).toMatchObject([
      { check_name: 'first', status: 'quarantined', failed_rows: 2 },
      { check_name: 'second', status: 'quarantined', failed_rows: 2 },
      { check_name: 'third', status: 'warned', failed_rows: 99 },
    ])
  })

  it('more rows than quarantine_limit allows fail the run, and the result is kept', async () => {
    const mart = await items(stand(), 'UPDATE content.items SET amount = -1 WHERE id <= 20')
    const checks = [check({ type: 'range', column: 'amount', min: 0 }, 'quarantine')]
    const { id } = await stand().pipeline({
      sourceQuery: QUERY,
      targetTable: mart,
      quarantineLimit: 10,
      checks,
    })
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4101' })
    expect(run.error).toContain('check "bad_rows" failed')
    expect(await rowTexts(stand().target, `SELECT * FROM ${mart}`)).toEqual([])
    expect(await resultsOf(stand(), run.id)).toMatchObject([{ status: 'quarantined', failed_rows: 20 }])
  })

  it('checks and constraints of the table find different rows of one batch', async () => {
    const mart = await items(stand(), 'UPDATE content.items SET amount = -1 WHERE id IN (7, 8)')
    await stand().target.query(
      `CREATE TABLE ${mart} (id int PRIMARY KEY, title text CHECK (title <> 'title 9'), kind text, amount numeric, parent int, at timestamptz);
       GRANT ALL ON ${mart} TO PUBLIC`,
    )
    const checks = [check({ type: 'range', column: 'amount', min: 0 }, 'quarantine')]
    const { id } = await stand().pipeline({ sourceQuery: QUERY, targetTable: mart, checks })
    const run = await stand().run(id)
    expect(run).toMatchObject({
      status: 'SUCCESS',
      rows_read: ROWS,
      rows_quarantined: 3,
      rows_inserted: ROWS - 3,
    })
    const held = await stand().main.query(
      'SELECT row_key, check_name FROM etl.etl_quarantine WHERE pipeline_id = $1 ORDER BY row_key',
      [id],
    )
    expect(held).toEqual([
      { row_key: '7', check_name: 'bad_rows' },
      { row_key: '8', check_name: 'bad_rows' },
      { row_key: '9', check_name: null },
    ])
  })

  it('an expression that raises an error ends the run, or is recorded with warn', async () => {
    const mart = await items(stand(), 'UPDATE content.items SET amount = 0 WHERE id = 7')
    const sql = '1 / amount > 0'
    const { id } = await stand().pipeline({
      sourceQuery: QUERY,
      targetTable: mart,
      checks: [check({ type: 'expression', sql }, 'fail')],
    })
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4104' })
    expect(run.error).toContain('division by zero')
    await stand().set(id, 'checks', JSON.stringify([check({ type: 'expression', sql }, 'warn')]))
    const again = await stand().run(id)
    expect(again).toMatchObject({ status: 'SUCCESS', rows_inserted: ROWS })
    expect(await resultsOf(stand(), again.id)).toMatchObject([
      { status: 'error', message: expect.stringContaining('division by zero') },
    ])
  })

  const MART_CHECKS: readonly (readonly [string, Record<string, unknown>, string, number, string[]])[] = [
    [
      'unique',
      { type: 'unique', column: 'title' },
      "UPDATE content.items SET title = 'twin', at = now() WHERE id IN (7, 1999)",
      2,
      ['twin'],
    ],
    [
      'row_count',
      { type: 'row_count', min: ROWS, max: ROWS },
      "INSERT INTO content.items VALUES (99999, 'more', 'film', 1, 1, now())",
      0,
      [],
    ],
    [
      'freshness',
      { type: 'freshness', column: 'at', max_age: '2h' },
      "UPDATE content.items SET at = at - interval '30 days'",
      0,
      [],
    ],
    [
      'an expression about rows',
      { type: 'expression', sql: 'amount >= 0', over: 'mart' },
      'UPDATE content.items SET amount = -1, at = now() WHERE id = 1999',
      1,
      ['1999'],
    ],
    [
      'an expression with aggregates',
      { type: 'expression', sql: 'min(amount) > 0 AND count(*) < 10000', over: 'mart' },
      'UPDATE content.items SET amount = -1, at = now() WHERE id = 1999',
      0,
      [],
    ],
    [
      'relationship',
      { type: 'relationship', column: 'parent', to: 'analytics.parents', to_column: 'id', over: 'mart' },
      'UPDATE content.items SET parent = 77, at = now() WHERE id = 1999',
      1,
      ['1999'],
    ],
  ]
  describe.each(MART_CHECKS)('over the mart: %s', (_name, definition, change, failed, sample) => {
    const fresh = "UPDATE content.items SET at = now() - interval '1 minute' WHERE id > 1000"

    it.each([
      ['in one stream', {}],
      ['in parts', { parallelism: 3 }],
    ] as const)('a replaced mart stays as it was if it fails, %s', async (_how, shape) => {
      const mart = await items(stand(), fresh)
      const { id } = await stand().pipeline({
        sourceQuery: QUERY,
        targetTable: mart,
        fullStrategy: 'replace',
        checks: [check(definition, 'fail')],
        ...shape,
      })
      const first = await stand().run(id)
      expect(first).toMatchObject({ status: 'SUCCESS', error: null })
      expect(await resultsOf(stand(), first.id)).toMatchObject([{ status: 'passed', scope: 'mart' }])
      const before = await rowTexts(stand().target, `SELECT xmin, * FROM ${mart}`)
      await stand().source.query(change)
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103' })
      expect(await rowTexts(stand().target, `SELECT xmin, * FROM ${mart}`)).toEqual(before)
      expect(await resultsOf(stand(), run.id)).toMatchObject([
        { status: 'failed', failed_rows: failed, sample, scope: 'mart' },
      ])
    })

    it('another run fails after its batches, keeps its checkpoint, and succeeds once the rows are corrected', async () => {
      const mart = await items(stand(), fresh)
      const { id } = await stand().pipeline({
        ...{ sourceQuery: QUERY, targetTable: mart, mode: 'incremental', deletes: 'sweep' },
        ...{ incrementalKey: 'at', incrementalIdKey: 'id', batchSize: 500 },
        checks: [check(definition, 'fail')],
      })
      expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS', error: null })
      await stand().source.query(`CREATE TABLE content.saved AS SELECT * FROM content.items; ${change}`)
      if (definition.type === 'freshness')
        // Rows that became older are not read again.
        await stand().target.query(`UPDATE ${mart} SET at = at - interval '30 days'`)
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103' })
      expect(await resultsOf(stand(), run.id)).toMatchObject([{ status: 'failed', failed_rows: failed }])
      await stand().source.query(
        `DELETE FROM content.items; INSERT INTO content.items SELECT id, title, kind, amount, parent, now() FROM content.saved; DROP TABLE content.saved`,
      )
      const again = await stand().run(id)
      expect(again).toMatchObject({ status: 'SUCCESS', error: null })
    })

    it('warn records it and the run succeeds', async () => {
      const mart = await items(stand(), `${fresh}; ${change}`)
      const { id } = await stand().pipeline({
        sourceQuery: QUERY,
        targetTable: mart,
        checks: [check(definition, 'warn')],
      })
      const run = await stand().run(id)
      expect(run).toMatchObject({ status: 'SUCCESS', error: null })
      expect(await resultsOf(stand(), run.id)).toMatchObject([
        { status: 'warned', failed_rows: failed, sample },
      ])
    })
  })

  it('row_count compares with the median of the last results', async () => {
    const mart = await items(stand(), 'SELECT 1')
    const checks = [check({ type: 'row_count', usual: 10 }, 'fail')]
    const { id } = await stand().pipeline({
      sourceQuery: QUERY,
      targetTable: mart,
      fullStrategy: 'replace',
      checks,
    })
    for (const _ of [1, 2, 3]) expect(await stand().run(id)).toMatchObject({ status: 'SUCCESS' })
    await stand().source.query('DELETE FROM content.items WHERE id > 1700')
    const run = await stand().run(id)
    expect(run).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103' })
    expect(run.error).toContain('outside 2000 ± ')
    const [row] = await stand().target.query(`SELECT count(*)::int AS rows FROM ${mart}`)
    expect(row).toEqual({ rows: ROWS })
  })
})

import { describe, expect, it } from 'vitest'
import type { Check } from '../../src/model/check.js'
import { aCountedMart, type CountedMart, ITEMS, signature, writesOf } from '../support/counted-mart.js'
import { runEnded } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'
import { recover, runInto } from './sweep.js'

const ROWS = 300
/** Two in each of two batches of 60 rows. */
const BAD = [70, 75, 190, 200]

interface Case {
  readonly point: string
  readonly onFailure: 'quarantine' | 'warn' | 'fail'
  readonly warehouse: boolean
  readonly replaced: boolean
}

/** The second batch is the first with bad rows; a replaced mart is one batch. */
const CASES: readonly Case[] = [false, true].flatMap((warehouse) => [
  ...['batch.merged@2', 'checkpoint.moved@2', 'lease.renewed@2', 'batch.committed@2'].flatMap((point) =>
    (['quarantine', 'warn'] as const).map((onFailure) => ({ point, onFailure, warehouse, replaced: false })),
  ),
  ...['checks.failed@1', 'checks.recorded@1'].flatMap((point) =>
    [false, true].map((replaced) => ({ point, onFailure: 'fail' as const, warehouse, replaced })),
  ),
  ...['replace.merged@1', 'lease.renewed@1', 'batch.committed@1'].map((point) => ({
    ...{ point, onFailure: 'quarantine' as const, warehouse, replaced: true },
  })),
])

const titleOf = ({ point, onFailure, warehouse, replaced }: Case) =>
  `${point}: ${onFailure}, ${replaced ? 'replaced' : 'in batches'}, ${warehouse ? 'in another database' : 'pushdown'}`

async function aCheckedMart({ onFailure, warehouse, replaced }: Case): Promise<CountedMart> {
  const check: Check = {
    name: 'amount_range',
    type: 'range',
    column: 'amount',
    min: 0,
    on_failure: onFailure,
  }
  const mart = await aCountedMart({
    ...{ rows: ROWS, warehouse, paged: true },
    pipeline: { checks: [check], ...(replaced ? { fullStrategy: 'replace' as const } : {}) },
  })
  await mart.main.query('UPDATE content.item SET amount = -1 WHERE id = ANY ($1)', [BAD])
  return mart
}

const sample = sampleOf(CASES, {
  key: titleOf,
  labels: ({ point, onFailure, warehouse, replaced }) => [
    point.split('@')[0]!,
    `${onFailure} ${warehouse} ${replaced}`,
  ],
})

describe('a runner that is killed leaves neither half a batch nor a wrong result at', () => {
  it.each(sample.map((one) => [titleOf(one), one] as const))('%s', { timeout: 120_000 }, async (_, one) => {
    const mart = await aCheckedMart(one)
    const { runId, victim } = await runInto(mart, one.point, 'kill')
    expect(await victim.exited).toBe(137)
    const run = await recover(mart, () => runEnded(mart.main, runId))
    const results = await mart.main.query(
      'SELECT check_name, status, failed_rows::int, sample FROM etl.etl_check_results WHERE run_id = $1',
      [runId],
    )
    const failsFirst = one.replaced ? BAD : BAD.slice(0, 2)
    const failing = one.onFailure === 'fail' ? failsFirst : BAD
    expect(results).toEqual([
      {
        check_name: 'amount_range',
        status: { fail: 'failed', warn: 'warned', quarantine: 'quarantined' }[one.onFailure],
        failed_rows: failing.length,
        sample: failing.map(String),
      },
    ])
    const held = await mart.main.query<{ key: string; check_name: string }>(
      'SELECT row_key AS key, check_name FROM etl.etl_quarantine ORDER BY row_key::int',
    )
    expect(held.map(({ key }) => Number(key))).toEqual(one.onFailure === 'quarantine' ? BAD : [])
    const written = {
      fail: one.replaced ? 'false' : 'id <= 60',
      quarantine: `id NOT IN (${BAD.join(', ')})`,
      warn: 'true',
    }[one.onFailure]
    expect(run.status).toBe(one.onFailure === 'fail' ? 'FAILED' : 'SUCCESS')
    expect(await signature(mart.target, 'SELECT id, name, amount, modified FROM analytics.mart')).toBe(
      await signature(mart.main, `${ITEMS} WHERE ${written}`),
    )
    const { writes, keys } = await writesOf(mart)
    expect(writes).toBe(keys)
  })
})

import { beforeAll, describe, expect, it } from 'vitest'
import type { PipelineSpec } from '../../src/model/pipeline.js'
import { aPipeline } from '../support/builders.js'
import { signature } from '../support/counted-mart.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { createEvents, writeLate } from '../support/late-writers.js'
import { aRunner } from '../support/runner.js'
import { run, type StoredRun } from '../support/runs.js'

const WRITERS = 6
const TRANSACTIONS = 25
const EVENTS = 'SELECT id, value, seq, modified FROM content.event'

const CAPTURES: Record<string, Partial<PipelineSpec>> = {
  'a timestamptz key': { incrementalKey: 'modified', incrementalIdKey: 'id' },
  'a key from a sequence': { incrementalKey: 'seq', incrementalIdKey: 'id' },
  'capture xmin': { capture: 'xmin' },
}

interface Followed {
  readonly id: string
  readonly database: TestDatabase
  readonly table: string
}

let main: TestDatabase
let warehouse: TestDatabase
const pipelines = new Map<string, Followed>()
const runs = new Map<string, StoredRun[]>()

async function follow(capture: string, way: string): Promise<void> {
  const table = `analytics.events_${pipelines.size}`
  const { id } = await aPipeline(main, {
    sourceQuery: EVENTS,
    targetTable: table,
    targetConnection: way === 'relay' ? 'warehouse' : null,
    keyColumns: ['id'],
    mode: 'incremental',
    batchSize: 50,
    ...CAPTURES[capture],
  })
  pipelines.set(`${capture}, ${way}`, { id, database: way === 'relay' ? warehouse : main, table })
}

/** Whether there is enough to judge: every pipeline ran several times, read rows, and one was held back. */
function isFollowed(): boolean {
  const all = [...runs.values()]
  const brought = (own: readonly StoredRun[]) => own.filter((one) => one.rows_inserted > 0).length
  return (
    all.length === pipelines.size &&
    all.every((own) => own.length > 5 && brought(own) > 3) &&
    all.flat().some((one) => one.held_back !== null)
  )
}

beforeAll(async () => {
  main = await aDatabase()
  warehouse = await aDatabase({ migrated: false })
  await warehouse.query('CREATE SCHEMA analytics')
  await createEvents(main)
  for (const capture of Object.keys(CAPTURES))
    for (const way of ['pushdown', 'relay']) await follow(capture, way)
  await aRunner(main, {
    env: { VITRINA_CONNECTION_WAREHOUSE_URL: warehouse.url, RUNNER_CONCURRENCY: '6' },
  })
  let writing = true
  // A loaded machine has fewer runs in the same time: the writers continue until each pipeline has followed them for
  // long.
  const isEnough = (transactions: number) => transactions >= TRANSACTIONS && isFollowed()
  const written = Promise.all(Array.from({ length: WRITERS }, (_, n) => writeLate(main, n + 1, isEnough)))
  const followed = [...pipelines].map(async ([name, { id }]) => {
    const own: StoredRun[] = []
    runs.set(name, own)
    while (writing) own.push(await run(main, id))
    // Everything is committed: one more run has to read the rest.
    own.push(await run(main, id))
  })
  await written.finally(() => {
    writing = false
  })
  await Promise.all(followed)
}, 120_000)

describe('R4.4 six writers that commit late and out of order', () => {
  const names = Object.keys(CAPTURES).flatMap((capture) =>
    ['pushdown', 'relay'].map((way) => `${capture}, ${way}`),
  )

  it.each(names)('lose no row and no change: %s', async (name) => {
    const { database, table } = pipelines.get(name)!
    const mart = await signature(database, `SELECT id, value, seq, modified FROM ${table}`)
    expect(mart).toBe(await signature(main, EVENTS))
    const own = runs.get(name)!
    expect(own.map((one) => one.error)).toEqual(own.map(() => null))
    expect(own.length).toBeGreaterThan(5)
  })

  it.each(names)('are followed while they write, not only at the end: %s', (name) => {
    const early = runs.get(name)!.slice(0, -1)
    expect(early.filter((one) => one.rows_inserted > 0).length).toBeGreaterThan(3)
  })

  it('hold the checkpoint back, and the run names the session', () => {
    const heldBack = [...runs.values()].flat().filter((one) => one.held_back !== null)
    expect(heldBack.length).toBeGreaterThan(0)
    expect(heldBack[0]!.held_back).toMatchObject({
      reason: expect.stringContaining('of test'),
      pid: expect.any(Number),
    })
  })
})

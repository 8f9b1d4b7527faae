import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Check } from '../../../src/model/check.js'
import type { PipelineSpec } from '../../../src/model/pipeline.js'
import type { Validation } from '../../../src/model/validation.js'
import type { PartBatchId, Sink } from '../../../src/ports/sink.js'
import type { TextValues } from '../../../src/sql/copy-text.js'
import { RowBatch } from '../../../src/sql/row-batch.js'
import type { TestDatabase } from '../../support/database.js'
import { olderTransactionsEnded } from '../../support/older-transactions.js'
import { requestRun, runById, runEnded, type StoredRun } from '../../support/runs.js'
import { inTurn } from '../../support/sample.js'
import type { SeenRow, SinkServer } from '../../support/sink-servers.js'
import { waitFor } from '../../support/wait.js'

/** A mart of the suite. */
export interface SuiteMart {
  readonly id: string
  readonly name: string
  readonly source: string
  run(): Promise<StoredRun>
  read(): Promise<SeenRow[] | null>
  expectEqual(where?: string): Promise<void>
}

export interface PartsSuite {
  readonly promise: (title: string, test: () => Promise<void>) => void
  /** In `npm test` the sinks share the promises: the number of this one, from 0. */
  readonly place: number
  readonly database: () => TestDatabase
  readonly isParted: boolean
  readonly server: () => SinkServer
  readonly aMart: (
    rows: number,
    spec?: Partial<PipelineSpec>,
    query?: string,
    transform?: string,
  ) => Promise<SuiteMart>
  /** Another runner, until the returned function is called. */
  readonly anotherRunner: () => Promise<() => Promise<void>>
  readonly validate: (id: string) => Promise<Validation>
  /** A mart of columns id, title and n. */
  readonly openSink: (name: string, replaces: boolean) => Promise<Sink>
}

const PARTS = 4
/** More than half of the promises that a sink which takes parts gives. */
const SHARE = 5
const QUERY = 'SELECT id, title, n, modified FROM content.thing'

/** What a sink promises if several runners write its mart at the same time; others stay one stream. */
export function partPromises(suite: PartsSuite): void {
  const { promise, aMart } = suite
  const { isParted } = suite
  const parts = isParted ? PARTS : 0
  const checksOf = (id: string, checks: readonly object[]) =>
    suite
      .database()
      .query('UPDATE etl.etl_pipelines SET checks = $2 WHERE id = $1', [
        id,
        JSON.stringify(checks as readonly Check[]),
      ])

  promise(
    'in parts contains every row of the source once, as in one stream, without deleted ones',
    async () => {
      const stop = await suite.anotherRunner()
      for (const spec of inTurn([{ deletes: 'sweep' }, { fullStrategy: 'replace' }] as const, suite.place)) {
        const mart = await aMart(2_000, { parallelism: PARTS, deleteBrake: 1, ...spec })
        const all = { status: 'SUCCESS', error: null, parts_total: parts, parts_done: parts }
        expect(await mart.run()).toMatchObject({ ...all, rows_read: 2_000 })
        await mart.expectEqual()
        await suite.database().query(`
        DELETE FROM ${mart.source} WHERE id % 50 = 0;
        UPDATE ${mart.source} SET title = 'second', n = NULL WHERE id % 3 = 0;
        INSERT INTO ${mart.source} VALUES (-5, 'before all', 1), (100000, 'after all', 2)`)
        expect(await mart.run()).toMatchObject({ ...all, rows_read: 1_962 })
        await mart.expectEqual()
        expect(await mart.run()).toMatchObject({ ...all, rows_read: 1_962, rows_deleted: 0 })
        await mart.expectEqual()
      }
      await stop()
    },
  )

  promise('reports in validation why its runs are one stream, if they are', async () => {
    const mart = await aMart(10, { parallelism: PARTS })
    const { warnings } = await suite.validate(mart.id)
    const found = warnings.filter(({ code }) => code === 'ONE_STREAM').map(({ message }) => message)
    if (isParted) expect(found).toEqual([])
    else
      expect(found).toEqual([
        expect.stringMatching(
          /^Runs are not cut into parts: .+ accepts rows from one runner at a time only\.$/,
        ),
      ])
  })

  if (!isParted) return
  const all: [title: string, test: () => Promise<void>][] = []
  const shared = (title: string, test: () => Promise<void>) => void all.push([title, test])
  shared('in parts takes the first pass of a pipeline that follows changes', async () => {
    const mart = await aMart(800, {
      mode: 'incremental',
      capture: 'xmin',
      deletes: 'sweep',
      parallelism: PARTS,
    })
    await olderTransactionsEnded(suite.database())
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', parts_done: PARTS, rows_read: 800 })
    await suite.database().query(`UPDATE ${mart.source} SET n = 100 WHERE id <= 3`)
    await suite.database().query(`DELETE FROM ${mart.source} WHERE id = 10`)
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', parts_total: 0 })
    await mart.expectEqual()
  })

  shared('in parts sends every row through the transforms', async () => {
    if (suite.server().transform !== undefined) return
    for (const fullStrategy of ['upsert', 'replace'] as const) {
      const mart = await aMart(300, { fullStrategy, parallelism: 2 }, QUERY, 'shout')
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null, parts_done: 2 })
      const titles = (await mart.read())!.map(({ id, title }) => `${id} ${title}`)
      expect(titles.sort()).toEqual(Array.from({ length: 300 }, (_, n) => `${n + 1} Title ${n + 1}!`).sort())
    }
  })

  shared('in parts holds one row for each key that transforms give to rows of several parts', async () => {
    if (suite.server().transform !== undefined) return
    for (const fullStrategy of ['upsert', 'replace'] as const) {
      const mart = await aMart(300, { fullStrategy, parallelism: 2 }, QUERY, 'fold')
      expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null, parts_done: 2 })
      const ids = (await mart.read())!.map(({ id }) => Number(id))
      expect(ids.sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, n) => n))
    }
  })

  shared('in parts is replaced as a whole: readers see the old mart or the new one', async () => {
    const mart = await aMart(1_200, { fullStrategy: 'replace', parallelism: 12, deleteBrake: 1 })
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
    await suite.database().query(`
      DELETE FROM ${mart.source} WHERE id > 1000; UPDATE ${mart.source} SET title = 'second'`)
    const runId = await requestRun(suite.database(), mart.id)
    const seen = new Set<string>()
    for (let status = 'RUNNING'; ['REQUESTED', 'RUNNING'].includes(status); ) {
      const rows = (await mart.read()) ?? []
      seen.add(`${rows.length} ${rows.filter((row) => row.title === 'second').length}`)
      status = (await runById(suite.database(), runId)).status
    }
    expect(await runEnded(suite.database(), runId)).toMatchObject({ status: 'SUCCESS', rows_read: 1_000 })
    expect([...seen].filter((one) => one !== '1200 0' && one !== '1000 1000')).toEqual([])
    await mart.expectEqual()
  })

  shared('in parts stays as it is when a replacement would remove too much', async () => {
    const mart = await aMart(100, { fullStrategy: 'replace', parallelism: PARTS })
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
    await suite.database().query(`DELETE FROM ${mart.source} WHERE id > 10`)
    expect(await mart.run()).toMatchObject({ status: 'FAILED', error_code: 'VTR-4102' })
    expect(await mart.read()).toHaveLength(100)
  })

  shared('in parts counts the rows that it rejects over all of them', async () => {
    // Two of each part.
    const query = 'SELECT id, title, n, modified FROM content.thing'
    const mart = await aMart(40, { quarantineLimit: 5, parallelism: PARTS }, query)
    await checksOf(mart.id, [
      { name: 'not fifth', type: 'expression', sql: 'id % 5 <> 0', on_failure: 'quarantine' },
    ])
    expect(await mart.run()).toMatchObject({ status: 'FAILED', error_code: 'VTR-4101' })
    await suite.database().query('UPDATE etl.etl_pipelines SET quarantine_limit = 8 WHERE id = $1', [mart.id])
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
    await mart.expectEqual('id % 5 <> 0')
    const held = await suite
      .database()
      .query('SELECT DISTINCT row_key FROM etl.etl_quarantine WHERE pipeline_id = $1', [mart.id])
    expect(held).toHaveLength(8)
  })

  shared('in parts checks the rows of each before they are sent', async () => {
    const mart = await aMart(400, { parallelism: PARTS })
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', error: null })
    await suite.database().query(`UPDATE ${mart.source} SET n = -1, title = 'bad' WHERE id IN (7, 390)`)
    const check = { name: 'positive', type: 'range', column: 'n', min: 0 }
    await checksOf(mart.id, [{ ...check, on_failure: 'fail' }])
    expect(await mart.run()).toMatchObject({ status: 'FAILED', error_code: 'VTR-4103' })
    expect((await mart.read())!.filter(({ title }) => title === 'bad')).toEqual([])
    await checksOf(mart.id, [{ ...check, on_failure: 'quarantine' }])
    expect(await mart.run()).toMatchObject({ status: 'SUCCESS', rows_quarantined: 2 })
    expect((await mart.read())!.filter(({ title }) => title === 'bad')).toEqual([])
    const held = await suite
      .database()
      .query('SELECT row_key FROM etl.etl_quarantine WHERE pipeline_id = $1 ORDER BY row_key', [mart.id])
    expect(held.map(({ row_key }) => row_key)).toEqual(expect.arrayContaining(['390', '7']))
  })

  shared('in parts is continued by the run after a pause, which executes what is left', async () => {
    // A function runs in a process of its own for each part.
    const many = suite.server().transform === undefined ? 40 : 12
    const mart = await aMart(800, { parallelism: many })
    const first = await requestRun(suite.database(), mart.id)
    await waitFor(async () => (await runById(suite.database(), first)).parts_done > 2, { what: 'some parts' })
    await suite
      .database()
      .query("UPDATE etl.etl_pipelines SET status = 'PAUSE_REQUESTED' WHERE id = $1", [mart.id])
    const paused = await runEnded(suite.database(), first)
    expect(paused).toMatchObject({ status: 'PAUSED', parts_total: many })
    expect(paused.parts_done).toBeLessThan(many)
    const rest = await mart.run()
    expect(rest).toMatchObject({ status: 'SUCCESS', error: null, parts_total: many, parts_done: many })
    expect(paused.rows_read + rest.rows_read).toBe(800)
    await mart.expectEqual()
    const marks = await suite
      .database()
      .query('SELECT FROM etl.etl_run_parts WHERE run_id = $1 AND marks IS NOT NULL', [rest.id])
    expect(marks).toHaveLength(0)
  })

  shared('keeps what a later claim of a part wrote, whatever an earlier one sends', async () => {
    const { acceptsLate = false, transform } = suite.server()
    // A table commits the rows together with the line of the part.
    if (acceptsLate || transform !== undefined) return
    await new LateClaims(suite).test()
  })

  for (const [title, test] of inTurn(all, suite.place * SHARE, SHARE)) promise(title, test)
}

/** Claims of one part, and batches of the holder, through the port of the sink. */
class LateClaims {
  readonly #suite: PartsSuite
  readonly #name = `m_${randomBytes(4).toString('hex')}`

  constructor(suite: PartsSuite) {
    this.#suite = suite
  }

  async test(): Promise<void> {
    const name = this.#name
    const holder = await this.#suite.openSink(name, false)
    await holder.prepare()
    const first = await this.#pass(holder, { fence: 1, replaces: false })
    const [frozen, second] = [await first.claim(1), await first.claim(2)]
    const marks = await second.write(rows('second', 1, 2, 3))
    await frozen.writeLate(rows('late', 1, 2, 3, 4))
    await first.end(marks)
    const again = await this.#titles(name)
    expect(again.slice(0, 3)).toEqual(['1 second', '2 second', '3 second'])

    // The holder continues: it changes one row and removes another.
    const later = { pipelineId: 'p', runId: first.runId, fence: 1, number: 9 }
    const changed = await holder.write(rows('changed', 1), later)
    const removed = await holder.remove([['2']], { ...later, number: 10 })
    const marksAfter = [...(changed.marks ?? []), ...(removed.marks ?? [])]
    await frozen.writeLate(rows('late', 1, 2, 3))
    await holder.publish(marksAfter, { ...later, number: 11 })
    expect((await this.#titles(name)).filter((one) => !one.startsWith('4'))).toEqual([
      '1 changed',
      '3 second',
    ])
    await holder.close()

    const successor = await this.#suite.openSink(name, false)
    await successor.prepare()
    const next = await this.#pass(successor, { fence: 2, replaces: false })
    const third = await next.claim(1)
    const marksOfThird = await third.write(rows('third', 1, 2, 3, 4))
    await second.writeLate(rows('late', 1, 2, 3))
    await next.end(marksOfThird)
    await second.writeLate(rows('late', 1, 2, 3))
    expect(await this.#titles(name)).toEqual(['1 third', '2 third', '3 third', '4 third'])
    await successor.close()
    await this.#replacements(name)
  }

  /** Two attempts of one run gather rows. What belongs to the first does not get into the mart. */
  async #replacements(name: string): Promise<void> {
    const holder = await this.#suite.openSink(name, true)
    await holder.prepare()
    const abandoned = await this.#pass(holder, { fence: 3, replaces: true })
    const early = await abandoned.claim(1)
    await early.write(rows('abandoned', 1, 2, 7))
    const pass = await this.#pass(holder, { fence: 3, replaces: true })
    const claim = await pass.claim(2)
    const marks = await claim.write(rows('new', 1, 2))
    await early.writeLate(rows('abandoned', 2, 8))
    await pass.end(marks)
    await early.writeLate(rows('abandoned', 1, 9))
    expect(await this.#titles(name)).toEqual(['1 new', '2 new'])
    await holder.close()
  }

  async #pass(holder: Sink, { fence, replaces }: { fence: number; replaces: boolean }) {
    const id = { pipelineId: 'p', runId: `00000000-0000-4000-8000-00000000000${fence}`, fence, number: 3 }
    const pass = await holder.parting!.begin(id, replaces)
    return {
      runId: id.runId,
      claim: (claim: number) => this.#claim(pass.ticket, { ...id, part: 1, claim, portion: 0 }),
      end: async ({ marks, count }: Claimed) => {
        await pass.end({ ...id, number: 8 }, { rows: count, rewritten: count, marks })
        if (!replaces) await holder.publish(marks, { ...id, number: 8 })
      },
    }
  }

  /** A process of its own, as the sink sees it. */
  async #claim(ticket: string, id: PartBatchId) {
    const sink = await this.#suite.openSink(this.#name, false)
    const writer = await sink.parting!.open(ticket)
    let portion = 0
    const write = async (batch: RowBatch): Promise<Claimed> => {
      portion += 1
      const { marks = [] } = await writer.write(batch, { ...id, portion })
      return { marks, count: batch.count }
    }
    // A server may refuse it, or accept what has no effect.
    const writeLate = (batch: RowBatch) => write(batch).catch(() => {})
    return { write, writeLate }
  }

  async #titles(name: string): Promise<string[]> {
    const seen = (await this.#suite.server().read(this.#suite.database(), name)) ?? []
    return seen.map(({ id, title }) => `${id} ${title}`).sort()
  }
}

interface Claimed {
  readonly marks: readonly string[]
  readonly count: number
}

function rows(title: string, ...ids: number[]): RowBatch {
  return RowBatch.ofRows(ids.map((id): TextValues => [String(id), title, '1']))
}

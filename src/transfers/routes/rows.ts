import { withoutPass } from '../../checkpoints/checkpoint.js'
import { type RowCounts, sumRows } from '../../model/run.js'
import { readLines, readPortions } from '../../sources/postgres/lines.js'
import type { TextValues } from '../../sql/copy-text.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { RowBatch } from '../../sql/row-batch.js'
import { asRelation, columnList } from '../../sql/selection.js'
import { type Attempt, fullPass, sourceQueryOf } from '../attempt.js'
import type { Apply, RowMart } from '../marts/mart.js'
import { FullProgression, type Progression } from '../progression.js'
import { OnceReader, SpoolReader } from '../readers/once.js'
import { LoadedPages } from '../readers/paged.js'
import { ReadAhead } from '../readers/read-ahead.js'
import type { Reader } from '../readers/reader.js'
import { withKeptScopes } from './kept-scopes.js'
import type { AffectedRows, Rebuild, Recomputed, Route, Stream } from './route.js'
import { typedKey } from './selections.js'

/** Rows pass through this process: for transforms, and for every target that is not a table of PostgreSQL. */
export class RowsRoute implements Route<RowBatch> {
  readonly rebuildsAtOnce = false
  readonly auditor = null
  readonly publish: RowMart['publish']
  readonly #attempt: Attempt<unknown>
  readonly #mart: RowMart

  constructor(attempt: Attempt<unknown>, mart: RowMart) {
    this.#attempt = attempt
    this.#mart = mart
    this.publish = mart.publish
  }

  pass(_name: string, progression: Progression): Stream<RowBatch> {
    return { reader: this.#reader(progression), writer: this.#mart, progression }
  }

  findsScopes(columns: readonly string[]): boolean {
    return this.#mart.findsScopes(columns)
  }

  async changes({ selection, scopes }: AffectedRows): Promise<Recomputed<RowBatch>> {
    if (scopes === null) throw new Error('This kind of mart cannot be rebuilt in one step.')
    const { source, claim } = this.#attempt
    const kept: TextValues[] = []
    const reader = this.#ahead(await SpoolReader.of(source, selection))
    const { deleteBrake: brake } = claim.pipeline
    const finish: Apply = (id) => this.#mart.removeWithin(scopes, kept, { id, brake })
    return { stream: { reader: this.#noting(reader, kept), writer: this.#mart }, finish }
  }

  rebuild(): () => Promise<Rebuild<RowBatch>> {
    return () => this.#rebuild()
  }

  async #rebuild(): Promise<Rebuild<RowBatch>> {
    const { batches, claim } = this.#attempt
    const replacement = await this.#mart.replacement()
    const { isResumable } = replacement
    const from = isResumable ? batches.state : withoutPass(batches.state)
    const pass = { ...fullPass(this.#attempt, 'replace'), from, start: null }
    const fingerprint = `${pass.fingerprint}/${claim.runId}`
    const progression = new FullProgression({ ...pass, fingerprint })
    return {
      isResumable,
      stream: { reader: this.#reader(progression), writer: replacement, progression },
      publish: (id, written: RowCounts) => replacement.publish(id, written, batches.unpublished),
    }
  }

  async sweep(): Promise<Apply> {
    const { batches } = this.#attempt
    return (id) => this.#mart.removeAbsent(this.#sourceKeys(), id, batches.unpublished)
  }

  repair(removeAbsent: boolean): (keys: readonly TextValues[]) => Promise<Apply> {
    return async (keys) => {
      const { chain } = this.#attempt
      const { rows, absent } = await this.#find(keys)
      const ready = chain === null ? rows : await chain.run(rows)
      const gone = removeAbsent ? [...absent, ...this.#dropped(rows, ready)] : []
      return async (id) => {
        const written = await this.#mart.write(ready, id)
        const counts = { ...written.rows, read: rows.count }
        if (gone.length === 0) return { ...written, rows: counts }
        const removed = await this.#mart.remove(gone, id, 1)
        const marks = [...written.marks, ...removed.marks]
        return { ...written, rows: sumRows(counts, removed.rows), marks }
      }
    }
  }

  #reader(progression: Progression): Reader<RowBatch> {
    const query = sourceQueryOf(this.#attempt)
    const { paged } = this.#attempt.examined
    return this.#ahead(paged ? new LoadedPages(query, progression) : new OnceReader(query, progression))
  }

  #ahead(reader: Reader<RowBatch>): Reader<RowBatch> {
    const { chain, examined, claim, resources } = this.#attempt
    const isExact = claim.pipeline.capture === 'wal' && examined.trace !== null
    const checked =
      chain !== null && isExact ? withKeptScopes(chain, examined.trace.trace, examined.columns) : chain
    return resources.add(new ReadAhead(reader, checked))
  }

  /** Adds the keys of the rows that pass through it to `kept`. */
  #noting(reader: Reader<RowBatch>, kept: TextValues[]): Reader<RowBatch> {
    return {
      next: async (limit) => {
        const portion = await reader.next(limit)
        if (portion !== null) kept.push(...this.#writtenKeys(portion.rows))
        return portion
      },
    }
  }

  /** All keys that the source has, or that the transforms make of its rows. */
  async *#sourceKeys(): AsyncGenerator<readonly TextValues[]> {
    const { source, examined, chain } = this.#attempt
    const { query, columns, key } = examined
    const selection = `SELECT ${columnList(chain === null ? key : columns)} FROM ${asRelation(query)}`
    for await (const batch of readPortions(source, selection))
      yield chain === null ? batch.rows : this.#writtenKeys(await chain.run(batch))
  }

  /** The source rows with these keys, and the keys without one. */
  async #find(keys: readonly TextValues[]): Promise<{ rows: RowBatch; absent: TextValues[] }> {
    const { source, examined } = this.#attempt
    const { query, columns, key } = examined
    const wanted = keys.map((texts, index) => `(${[index, ...typedKey(key, texts)].join(', ')})`)
    // IS NOT DISTINCT FROM finds NULL, but does not use an index.
    const equals = keys.some((texts) => texts.includes(null)) ? 'IS NOT DISTINCT FROM' : '='
    const same = key.map((column, n) => `source.${quoteIdentifier(column.name)} ${equals} wanted.k${n}`)
    const found = await readLines(
      source,
      `SELECT wanted.n, ${columnList(columns, 'source.')} FROM (VALUES ${wanted.join(', ')}) AS wanted (n, ${key.map((_, n) => `k${n}`).join(', ')}) JOIN ${asRelation(query)} ON ${same.join(' AND ')}`,
    )
    const indexes = new Set(found.rows.map(([index]) => Number(index)))
    return {
      rows: RowBatch.ofRows(found.rows.map(([, ...row]) => row)),
      absent: keys.filter((_, index) => !indexes.has(index)),
    }
  }

  /** The keys of rows that the source has and the transforms no longer return. */
  #dropped(rows: RowBatch, ready: RowBatch): TextValues[] {
    const { chain, examined } = this.#attempt
    if (chain === null) return []
    const kept = new Set(this.#writtenKeys(ready).map((key) => JSON.stringify(key)))
    const { columns, key } = examined
    return portionKeys(rows, columns, key).filter((found) => !kept.has(JSON.stringify(found)))
  }

  #writtenKeys(rows: RowBatch): TextValues[] {
    const { columns, examined } = this.#attempt
    return portionKeys(rows, columns, examined.key)
  }
}

type Named = { readonly name: string }

function portionKeys({ rows }: RowBatch, columns: readonly Named[], key: readonly Named[]): TextValues[] {
  const indexes = key.map(({ name }) => columns.findIndex((column) => column.name === name))
  return rows.map((row) => indexes.map((index) => row[index] ?? null))
}

import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { requireBelowBrake } from '../../../src/model/brake.js'
import { VitrinaError } from '../../../src/model/errors.js'
import type {
  BatchId,
  Examination,
  MartDefinition,
  MartSummary,
  Removal,
  Replacement,
  RowDigest,
  Sink,
  WriteResult,
} from '../../../src/ports/sink.js'
import type { TextValues } from '../../../src/sql/copy-text.js'
import type { RowBatch } from '../../../src/sql/row-batch.js'

/** The rows of a file by key. */
type Rows = Map<string, TextValues>

/**
 * Reads and writes the whole file with each batch: correct but slow, which is enough for an example. A batch becomes
 * visible with `rename`, not before.
 */
export class JsonlSink implements Sink {
  readonly #path: string
  readonly #mart: MartDefinition
  readonly #keyPlaces: readonly number[]

  constructor(path: string, mart: MartDefinition) {
    this.#path = path
    this.#mart = mart
    this.#keyPlaces = mart.key.map((name) => mart.columns.findIndex((column) => column.name === name))
  }

  async examine(): Promise<Examination> {
    return { exists: (await this.#read()) !== null, errors: [], warnings: [] }
  }

  async prepare(): Promise<void> {
    if ((await this.#read()) === null) await this.#save(this.#path, new Map())
  }

  async write(batch: RowBatch): Promise<WriteResult> {
    return this.#writeTo(this.#path, batch)
  }

  async remove(keys: readonly TextValues[]): Promise<Removal> {
    const rows = await this.#rows()
    const deleted = keys.filter((key) => rows.delete(JSON.stringify(key))).length
    await this.#save(this.#path, rows)
    return { deleted }
  }

  async removeAbsent(keys: AsyncIterable<readonly TextValues[]>): Promise<Removal> {
    const kept = new Set<string>()
    for await (const portion of keys) for (const key of portion) kept.add(JSON.stringify(key))
    const rows = await this.#rows()
    const gone = [...rows.keys()].filter((key) => !kept.has(key))
    requireBelowBrake(this.#path, { deleted: gone.length, size: rows.size, brake: this.#mart.brake })
    for (const key of gone) rows.delete(key)
    await this.#save(this.#path, rows)
    return { deleted: gone.length }
  }

  async replacement(runId: string): Promise<Replacement> {
    const beside = `${this.#path}.${runId}`
    return {
      isResumable: true,
      write: (batch) => this.#writeTo(beside, batch),
      publish: (_id: BatchId, written) => this.#exchange(beside, written.rows),
    }
  }

  /** Every batch is visible as soon as it is written. */
  async publish(): Promise<void> {}

  async summary(column: string): Promise<MartSummary> {
    const place = this.#mart.columns.findIndex(({ name }) => name === column)
    const values = [...(await this.#rows()).values()].flatMap((row) => row[place] ?? []).sort()
    return { count: (await this.#rows()).size, min: values[0] ?? null, max: values.at(-1) ?? null }
  }

  async *digests(): AsyncGenerator<readonly RowDigest[]> {
    yield [...(await this.#rows()).values()].map((row) => this.digestOf(row))
  }

  digestOf(row: TextValues): RowDigest {
    return { key: this.#keyPlaces.map((place) => row[place] ?? null), digest: JSON.stringify(row) }
  }

  async close(): Promise<void> {}

  async #writeTo(path: string, batch: RowBatch): Promise<WriteResult> {
    const rows = (await this.#read(path)) ?? new Map()
    const counts = { inserted: 0, updated: 0, unchanged: 0 }
    const seen = new Set<string>()
    const refused = []
    for (const [place, row] of batch.rows.entries()) {
      const { key, digest } = this.digestOf(row)
      if (key.includes(null)) {
        refused.push({ row: place, reason: 'a key column is NULL' })
        continue
      }
      const name = JSON.stringify(key)
      const before = rows.get(name)
      if (!seen.has(name))
        counts[
          before === undefined ? 'inserted' : JSON.stringify(before) === digest ? 'unchanged' : 'updated'
        ] += 1
      seen.add(name)
      rows.set(name, row)
    }
    await this.#save(path, rows)
    return { ...counts, duplicates: batch.count - refused.length - seen.size, refused }
  }

  async #exchange(beside: string, written: number): Promise<Removal> {
    const old = await this.#rows()
    const built = (await this.#read(beside)) ?? new Map()
    if (built.size > written)
      throw new VitrinaError('SINK_GONE', `${beside} has rows that this run did not write.`, 'Run again.')
    const gone = [...old.keys()].filter((key) => !built.has(key)).length
    requireBelowBrake(this.#path, { deleted: gone, size: old.size, brake: this.#mart.brake })
    await this.#save(this.#path, built)
    await rm(beside, { force: true })
    return { deleted: gone }
  }

  async #rows(): Promise<Rows> {
    return (await this.#read()) ?? new Map()
  }

  async #read(path = this.#path): Promise<Rows | null> {
    const text = await readFile(path, 'utf8').catch(() => null)
    if (text === null) return null
    const names = this.#mart.columns.map((column) => column.name)
    const rows = text.split('\n').filter((line) => line !== '')
    return new Map(
      rows.map((line) => {
        const object = JSON.parse(line) as Record<string, string | null>
        const row = names.map((name) => object[name] ?? null)
        return [JSON.stringify(this.#keyPlaces.map((place) => row[place])), row]
      }),
    )
  }

  async #save(path: string, rows: Rows): Promise<void> {
    const lines = [...rows.values()].map((row) =>
      JSON.stringify(
        Object.fromEntries(this.#mart.columns.map((column, place) => [column.name, row[place]])),
      ),
    )
    await writeFile(`${path}.new`, lines.map((line) => `${line}\n`).join(''))
    await rename(`${path}.new`, path)
  }
}

import { hash } from 'node:crypto'
import { requireBelowBrake } from '../../model/brake.js'
import { VitrinaError } from '../../model/errors.js'
import type { BatchId, Removal, Replacement, WriteResult, Written } from '../../ports/sink.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { Cluster } from './cluster.js'
import type { IndexScan } from './index-scan.js'
import { type ElasticsearchMart, type IndexState, writeAlias } from './mart.js'
import type { ElasticsearchWriter } from './writer.js'

interface Parts {
  readonly mart: ElasticsearchMart
  readonly scan: IndexScan
  readonly cluster: Cluster
  readonly documents: ElasticsearchWriter
  /** Identifies what is built: another one begins from scratch. */
  readonly identity: string
  readonly brake: number
}

/** It has no readers yet: no replicas and no refreshes until it is complete. */
const WHILE_BUILDING = { refresh_interval: '-1', number_of_replicas: 0 }

/** A new index next to the current one; one atomic change of aliases publishes it. */
export class IndexReplacement implements Replacement {
  readonly isResumable = true
  readonly #parts: Parts
  readonly #index: string

  private constructor(parts: Parts, index: string) {
    this.#parts = parts
    this.#index = index
  }

  /** Resumes what was built under this identity; all other unfinished indexes are removed. */
  static async open(parts: Parts): Promise<IndexReplacement> {
    const { mart, identity } = parts
    const index = `${mart.name}-${hash('sha256', identity, 'hex').slice(0, 10)}`
    const replacement = new IndexReplacement(parts, index)
    await replacement.#removeOthers()
    await mart.create(index, WHILE_BUILDING)
    return replacement
  }

  get alias(): string {
    return writeAlias(this.#index)
  }

  write(batch: RowBatch, id: BatchId): Promise<WriteResult> {
    return this.#parts.documents.write(batch, id, this.alias)
  }

  async publish(_id: BatchId, written: Pick<Written, 'rows' | 'rewritten'>): Promise<Removal> {
    const { mart, scan, brake } = this.#parts
    const old = await mart.find()
    // It was published, but the process died before reporting it.
    if (old?.index === this.#index) return this.#finish(0)
    await scan.refresh(this.#index)
    const count = await scan.count(this.#index)
    this.#requireWhole(count, written)
    const oldCount = old === null ? 0 : await scan.count(old.index)
    const removed = Math.max(0, oldCount - count)
    requireBelowBrake(mart.target, { deleted: removed, size: oldCount, brake })
    await this.#settle()
    await this.#swap(old)
    return this.#finish(removed)
  }

  #requireWhole(count: number, { rows, rewritten }: { rows: number; rewritten: number }): void {
    if (count <= rows && count >= rows - rewritten) return
    throw new VitrinaError(
      'SINK_GONE',
      `The new index of ${this.#parts.mart.target} has ${count} documents, but ${rows} rows were written (${rewritten} of them possibly twice); it was not published.`,
      'Check what else writes to or deletes from the indexes of this mart. The current index is unchanged; run the pipeline again.',
    )
  }

  /** Applies the settings of an index with readers; replicas are created from here on. */
  async #settle(): Promise<void> {
    const { cluster, mart } = this.#parts
    await cluster.ask({
      method: 'PUT',
      path: `/${encodeURIComponent(this.#index)}/_settings`,
      target: mart.target,
      body: { index: { refresh_interval: null, number_of_replicas: mart.options.replicas ?? null } },
    })
  }

  /** Switches readers from the old mart to the new one atomically; an index with the alias's name is removed. */
  async #swap(old: IndexState | null): Promise<void> {
    const { cluster, mart } = this.#parts
    const away =
      old === null
        ? []
        : old.index === mart.name
          ? [{ remove_index: { index: old.index } }]
          : [{ remove: { index: old.index, alias: mart.name } }]
    await cluster.ask({
      method: 'POST',
      path: '/_aliases',
      target: mart.target,
      body: { actions: [...away, { add: { index: this.#index, alias: mart.name } }] },
    })
  }

  async #finish(deleted: number): Promise<Removal> {
    // The new mart is published; the next run removes an old index that is left behind.
    await this.#removeOthers().catch(() => null)
    return { deleted }
  }

  /** Indexes built for this mart that are not in use: old ones, and those of unfinished runs. */
  async #removeOthers(): Promise<void> {
    const { cluster, mart } = this.#parts
    const { body } = await cluster.ask<Record<string, IndexBody>>({
      method: 'GET',
      path: `/${encodeURIComponent(`${mart.name}-*`)}`,
      target: mart.target,
    })
    for (const [index, state] of Object.entries(body)) {
      if (index === this.#index || !isLeftover(index, state, mart.name)) continue
      await cluster.ask({
        method: 'DELETE',
        path: `/${encodeURIComponent(index)}`,
        target: mart.target,
        accept: [404],
      })
    }
  }
}

interface IndexBody {
  readonly aliases: Readonly<Record<string, unknown>>
  readonly mappings: { readonly _meta?: { readonly vitrina?: { readonly mart?: string } } }
}

/** Built by Vitrina for this mart, and without readers: only our own alias points to it. */
function isLeftover(index: string, { aliases, mappings }: IndexBody, name: string): boolean {
  return (
    mappings._meta?.vitrina?.mart === name &&
    Object.keys(aliases).every((alias) => alias === writeAlias(index))
  )
}

import type { BatchId, MartDefinition, PartBatchId, WriteResult } from '../../ports/sink.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { versionOf } from './batch-version.js'
import { BulkSender, type BulkTarget, bulksOf } from './bulk.js'
import { BulkEncoder } from './bulk-encoder.js'
import type { Cluster } from './cluster.js'
import type { ElasticsearchSettings } from './config.js'
import { leftoversOf } from './merged-objects.js'
import type { BulkMode } from './types.js'

const MIB = 1024 * 1024

/**
 * A delete with a version creates a missing index even when an alias is required. An update does not, and if one item
 * of a request requires an alias, the whole request does. No row has this _id.
 */
const ALIAS_ONLY = Buffer.from('{"update":{"_id":"~!"}}\n{"doc":{}}\n')

interface BatchWriterParts {
  readonly mart: MartDefinition
  readonly mode: BulkMode
  readonly cluster: Cluster
  readonly settings: ElasticsearchSettings
}

/** Writes batches and removes keys by bulk requests to the index behind an alias. */
export class ElasticsearchWriter {
  readonly #encoder: BulkEncoder
  readonly #sender: BulkSender
  readonly #target: string
  readonly #bytes: number
  readonly #isVersioned: boolean
  readonly #requireLease: MartDefinition['requireLease']

  constructor({ mart, mode, cluster, settings }: BatchWriterParts) {
    const parallel = settings.ELASTICSEARCH_PARALLEL_BULKS
    this.#bytes = settings.ELASTICSEARCH_BULK_MIB * MIB
    const limits = { bytes: this.#bytes, parallel }
    this.#encoder = new BulkEncoder({ columns: mart.columns, key: mart.key, mode, limits })
    this.#sender = new BulkSender(cluster, parallel, settings.ELASTICSEARCH_RETRY_SECONDS * 1000)
    this.#target = settings.ES_TARGET_PREFIX + mart.name
    this.#isVersioned = mode === 'index'
    this.#requireLease = mart.requireLease
  }

  async write(batch: RowBatch, id: BatchId | PartBatchId, alias: string): Promise<WriteResult> {
    const encoded = this.#encoder.open(batch)
    const to = this.#to(alias, 'claim' in id ? BigInt(id.fence) : null)
    const tally = await this.#sender.send(this.#encoder.bulks(encoded, id), to)
    const leftovers = leftoversOf(tally.shown)
    for (const which of ['emptied', 'item'] as const)
      await this.#sender.send(
        bulksOf(
          leftovers.map((leftover) => leftover[which]),
          this.#bytes,
        ),
        to,
      )
    return {
      inserted: tally.created,
      updated: tally.updated,
      unchanged: tally.noop,
      duplicates: encoded.duplicates,
      refused: [...encoded.refused, ...tally.refused].sort((a, b) => a.row - b.row),
    }
  }

  /** Returns how many existed. */
  async remove(ids: Iterable<string>, id: BatchId, alias: string): Promise<number> {
    const version = this.#isVersioned ? `,"version":${versionOf(id)},"version_type":"external_gte"` : ''
    const items = function* () {
      for (const documentId of ids)
        yield Buffer.from(`{"delete":{"_id":${JSON.stringify(documentId)}${version}}}\n`)
    }
    const to = { ...this.#to(alias), preamble: ALIAS_ONLY }
    return (await this.#sender.send(bulksOf(items(), this.#bytes), to)).deleted
  }

  #to(alias: string, sharedFence: bigint | null = null): BulkTarget {
    return {
      target: this.#target,
      alias,
      isVersioned: this.#isVersioned,
      sharedFence,
      requireLease: this.#requireLease,
    }
  }
}

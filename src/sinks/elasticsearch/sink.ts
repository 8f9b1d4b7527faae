import { randomUUID } from 'node:crypto'
import { requireBelowBrake } from '../../model/brake.js'
import type {
  BatchId,
  Examination,
  MartDefinition,
  MartSummary,
  PartedPass,
  Parting,
  PartWriter,
  Removal,
  Replacement,
  RowDigest,
  Sink,
  WriteResult,
} from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'
import { Cluster } from './cluster.js'
import type { ElasticsearchOptions, ElasticsearchSettings } from './config.js'
import { documentId } from './document-id.js'
import { gone } from './errors.js'
import { Digester, IndexScan, summarise } from './index-scan.js'
import { KeySet } from './key-set.js'
import { ElasticsearchMart, type IndexState, writeAlias } from './mart.js'
import { IndexReplacement } from './replacement.js'
import { ElasticsearchWriter } from './writer.js'

/** Where a part is written. */
interface Ticket {
  readonly alias: string
  /** The index is being built. */
  readonly isNew: boolean
}

/** A mart as an index of Elasticsearch or OpenSearch: one document for each row. */
export class ElasticsearchSink implements Sink {
  readonly #parts: MartDefinition
  readonly #settings: ElasticsearchSettings
  readonly #cluster: Cluster
  readonly #mart: ElasticsearchMart
  readonly #scan: IndexScan
  readonly #documents: ElasticsearchWriter
  readonly #digester: Digester
  #index: string | null = null

  constructor(parts: MartDefinition, settings: ElasticsearchSettings) {
    const options = parts.options as ElasticsearchOptions
    const target = settings.ES_TARGET_PREFIX + parts.name
    this.#parts = parts
    this.#cluster = new Cluster(settings, parts.signal)
    const replaces = parts.replaces === true
    this.#mart = new ElasticsearchMart({
      name: parts.name,
      target,
      columns: parts.columns,
      options,
      replaces,
      cluster: this.#cluster,
    })
    this.#scan = new IndexScan(this.#cluster, target)
    this.#documents = new ElasticsearchWriter({
      mart: parts,
      mode: options.write_mode,
      cluster: this.#cluster,
      settings,
    })
    this.#settings = settings
    this.#digester = new Digester(parts.columns, parts.key, options.write_mode)
  }

  examine(): Promise<Examination> {
    return this.#mart.examine()
  }

  async prepare(): Promise<void> {
    // A replacement creates its index itself.
    if (this.#parts.replaces !== true) this.#index = (await this.#mart.prepare()).index
  }

  async identity(): Promise<string> {
    return String((await this.#found()).settings['index.uuid'])
  }

  async write(batch: RowBatch, id: BatchId): Promise<WriteResult> {
    return this.#documents.write(batch, id, await this.#alias())
  }

  async remove(keys: readonly TextValues[], id: BatchId): Promise<Removal> {
    const ids = new Set(keys.map(documentId).filter((one) => one !== null))
    return { deleted: await this.#documents.remove(ids, id, await this.#alias()) }
  }

  async removeAbsent(keys: AsyncIterable<readonly TextValues[]>, id: BatchId): Promise<Removal> {
    const kept = new KeySet()
    for await (const portion of keys) for (const key of portion) kept.add(documentId(key) ?? '')
    const absent: string[] = []
    await this.#scan.refresh(this.#parts.name)
    let count = 0
    for await (const hits of this.#scan.documents(this.#parts.name, false)) {
      count += hits.length
      for (const { _id } of hits) if (!kept.has(_id)) absent.push(_id)
    }
    requireBelowBrake(this.#mart.target, { deleted: absent.length, size: count, brake: this.#parts.brake })
    return { deleted: await this.#documents.remove(absent, id, await this.#alias()) }
  }

  replacement(runId: string): Promise<Replacement> {
    return this.#replacement(runId)
  }

  #replacement(identity: string): Promise<IndexReplacement> {
    return IndexReplacement.open({
      mart: this.#mart,
      scan: this.#scan,
      cluster: this.#cluster,
      documents: this.#whole(),
      identity,
      brake: this.#parts.brake,
    })
  }

  /** An index that is being built has no other writers: whole documents give the same result as merges, at lower cost. */
  #whole(): ElasticsearchWriter {
    const [mart, cluster, settings] = [this.#parts, this.#cluster, this.#settings]
    return new ElasticsearchWriter({ mart, mode: 'index', cluster, settings })
  }

  get parting(): Parting {
    return {
      refusesLate: this.#mart.options.write_mode === 'index',
      begin: (id, replaces) => (replaces ? this.#beginReplacement(id) : this.#beginPass()),
      open: async (ticket) => this.#partWriter(JSON.parse(ticket) as Ticket),
    }
  }

  async #beginPass(): Promise<PartedPass> {
    const ticket: Ticket = { alias: await this.#alias(), isNew: false }
    return { ticket: JSON.stringify(ticket), end: async () => ({ deleted: 0 }) }
  }

  /** Another index in each attempt: what is sent late to that of an earlier one finds no alias. */
  async #beginReplacement({ runId }: BatchId): Promise<PartedPass> {
    const replacement = await this.#replacement(`${runId} ${randomUUID()}`)
    const ticket: Ticket = { alias: replacement.alias, isNew: true }
    return {
      ticket: JSON.stringify(ticket),
      end: (id, written) => replacement.publish(id, written),
    }
  }

  #partWriter({ alias, isNew }: Ticket): PartWriter {
    const documents = isNew ? this.#whole() : this.#documents
    return { write: (batch, id) => documents.write(batch, id, alias) }
  }

  async publish(): Promise<void> {
    await this.#mart.endLoading()
    await this.#scan.refresh(this.#parts.name)
  }

  async summary(column: string): Promise<MartSummary> {
    const { name, columns } = this.#parts
    const state = await this.#found()
    await this.#scan.refresh(name)
    const { write_mode: mode } = this.#mart.options
    return summarise(this.#scan, {
      index: name,
      column: columns.find((one) => one.name === column)!,
      properties: state.properties,
      mode,
    })
  }

  async *digests(): AsyncGenerator<readonly RowDigest[]> {
    await this.#scan.refresh(this.#parts.name)
    for await (const hits of this.#scan.documents(this.#parts.name, true))
      yield hits.map((hit) => this.#digester.ofDocument(hit))
  }

  digestOf(row: TextValues): RowDigest {
    return this.#digester.ofRow(row)
  }

  async close(): Promise<void> {
    this.#cluster.client.close()
  }

  /** Looked up once: if the index is replaced meanwhile, its alias disappears and the write fails with that reason. */
  async #alias(): Promise<string> {
    this.#index ??= (await this.#found()).index
    return writeAlias(this.#index)
  }

  async #found(): Promise<IndexState> {
    const state = await this.#mart.find()
    if (state === null) throw gone(this.#mart.target, 'the index does not exist')
    return state
  }
}

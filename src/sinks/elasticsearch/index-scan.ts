import { hash } from 'node:crypto'
import type { MartSummary, RowDigest } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { Column } from '../../sql/selection.js'
import { NoResponse } from './client.js'
import type { Cluster } from './cluster.js'
import { keyOfId } from './document-id.js'
import { unavailable } from './errors.js'
import { normalJson, parseExact } from './exact-json.js'
import { findProperty, type Properties } from './schema.js'
import { type BulkMode, type FieldType, fieldType } from './types.js'
import { ElasticsearchValueError } from './value-error.js'

export interface Hit {
  readonly _id: string
  readonly _source: Readonly<Record<string, unknown>>
}

interface HitPage {
  readonly _scroll_id: string
  readonly hits: { readonly hits: readonly Hit[] }
  readonly _shards: { readonly failed: unknown }
}

const PORTION = 2000
const KEEP = '5m'

interface EdgeOrder {
  readonly field: string
  readonly column: string
  readonly order: 'asc' | 'desc'
}

/** Reads an index as its readers see it. */
export class IndexScan {
  readonly #cluster: Cluster
  readonly #target: string

  constructor(cluster: Cluster, target: string) {
    this.#cluster = cluster
    this.#target = target
  }

  /** Makes everything written so far visible. */
  async refresh(index: string): Promise<void> {
    await this.#cluster.ask({
      method: 'POST',
      path: `/${encodeURIComponent(index)}/_refresh`,
      target: this.#target,
    })
  }

  async count(index: string): Promise<number> {
    const { body } = await this.#cluster.ask<{ count: number; _shards: { failed: number } }>({
      method: 'GET',
      path: `/${encodeURIComponent(index)}/_count`,
      target: this.#target,
    })
    // A count that misses a shard would let a partial mart pass as complete.
    if (body._shards.failed > 0) throw this.#incomplete()
    return body.count
  }

  /** Every document in pages, as of the first one. Both Elasticsearch and OpenSearch support scrolls. */
  async *documents(index: string, source: boolean): AsyncGenerator<readonly Hit[]> {
    let page = await this.#page(
      `/${encodeURIComponent(index)}/_search?scroll=${KEEP}&allow_partial_search_results=false`,
      {
        size: PORTION,
        sort: ['_doc'],
        _source: source,
      },
    )
    try {
      while (page.hits.hits.length > 0) {
        yield page.hits.hits
        page = await this.#page('/_search/scroll', { scroll: KEEP, scroll_id: page._scroll_id })
      }
    } finally {
      await this.#forget(page._scroll_id)
    }
  }

  /** The documents with the lowest or the highest values of a field. */
  async edge(index: string, { field, column, order }: EdgeOrder): Promise<readonly Hit[]> {
    const { hits } = await this.#page(
      `/${encodeURIComponent(index)}/_search?allow_partial_search_results=false`,
      {
        size: 100,
        sort: [{ [field]: { order } }],
        query: { exists: { field } },
        track_total_hits: false,
        _source: [column],
      },
    )
    return hits.hits
  }

  /** Not repeated: when the response to a scroll is lost, the next request would skip a page. */
  async #page(path: string, body: object): Promise<HitPage> {
    const answer = await this.#cluster.askText({
      method: 'POST',
      path,
      body,
      target: this.#target,
      once: true,
    })
    const page = parseExact(answer.body) as HitPage
    if (normalJson(page._shards.failed) !== '0') throw this.#incomplete()
    return page
  }

  async #forget(id: string): Promise<void> {
    const question = {
      method: 'DELETE',
      path: '/_search/scroll',
      body: { scroll_id: id },
      target: this.#target,
    } as const
    // The server drops the scroll after a while anyway, and what was read is valid.
    await this.#cluster.ask({ ...question, accept: [404], once: true }).catch(() => null)
  }

  #incomplete() {
    return unavailable(
      new NoResponse(`${this.#cluster.client.address}: not every shard of ${this.#target} responded`),
    )
  }
}

/** Digests of rows, equal for a document and the row that it was made from. */
export class Digester {
  readonly #columns: readonly { readonly name: string; readonly type: FieldType }[]
  readonly #key: readonly number[]

  constructor(columns: readonly Column[], key: readonly string[], mode: BulkMode) {
    this.#columns = columns.map(({ name, type }) => ({ name, type: fieldType(type, mode) }))
    this.#key = key.map((name) => columns.findIndex((column) => column.name === name))
  }

  ofDocument({ _id, _source }: Hit): RowDigest {
    const values = this.#columns.map(({ name }) => (name in _source ? _source[name] : undefined))
    return { key: keyOfId(_id, this.#key.length) ?? this.#keyOf(values), digest: digest(values) }
  }

  ofRow(row: TextValues): RowDigest {
    const values = this.#columns.map(({ type }, index) => parsed(type, row[index]!))
    return { key: this.#key.map((index) => row[index]!), digest: digest(values) }
  }

  #keyOf(values: readonly unknown[]): TextValues {
    return this.#key.map((index) => this.#columns[index]!.type.text(values[index]))
  }
}

function parsed(type: FieldType, text: string | null): unknown {
  if (text === null) return null
  try {
    return parseExact(type.literal(text))
  } catch (error) {
    // It was never written, so no document matches it.
    if (error instanceof ElasticsearchValueError) return { unfit: text }
    throw error
  }
}

/** A missing field differs from NULL: the document was not written by Vitrina. */
function digest(values: readonly unknown[]): string {
  const text = values.map((value) => (value === undefined ? '' : normalJson(value))).join('\n')
  return hash('sha256', text, 'base64')
}

/** The field by which a column can be sorted, or null. */
function sortField(properties: Properties, column: string): string | null {
  const property = findProperty(properties, column)
  if (property === null) return null
  if (property.type === 'text') return property.fields?.keyword === undefined ? null : `${column}.keyword`
  return ['object', 'nested', 'flattened', 'binary', undefined].includes(property.type) ? null : column
}

interface SummarisedColumn {
  readonly index: string
  readonly column: Column
  readonly properties: Properties
  readonly mode: BulkMode
}

export async function summarise(
  scan: IndexScan,
  { index, column, properties, mode }: SummarisedColumn,
): Promise<MartSummary> {
  const count = await scan.count(index)
  const field = sortField(properties, column.name)
  if (field === null) return { count, min: null, max: null }
  const type = fieldType(column.type, mode)
  const texts = async (order: 'asc' | 'desc') =>
    (await scan.edge(index, { field, column: column.name, order })).flatMap(
      ({ _source }) => type.text(_source[column.name]) ?? [],
    )
  const [least, greatest] = [await texts('asc'), await texts('desc')]
  if (type.mapping.type === 'date') {
    // Sorted by milliseconds; the microseconds are only in the texts.
    least.sort()
    greatest.sort().reverse()
  }
  return { count, min: least[0] ?? null, max: greatest[0] ?? null }
}

import { VitrinaError } from '../../model/errors.js'
import type { RejectedRow } from '../../ports/sink.js'
import { Backoff } from './backoff.js'
import { fenceOf } from './batch-version.js'
import { type HttpResponse, NoResponse } from './client.js'
import type { Cluster } from './cluster.js'
import {
  errorOf,
  isTemporary,
  isUntrusted,
  reasonOf,
  type ServerError,
  sinkError,
  unavailable,
} from './errors.js'

/** Lines of a bulk request whose items are settled individually. */
export interface Bulk {
  readonly bytes: Buffer
  /** Where each item ends in `bytes`. */
  readonly ends: readonly number[]
  /** The row of each item. */
  readonly rows: readonly number[]
}

interface BulkItem {
  readonly status: number
  readonly result?: 'created' | 'updated' | 'noop' | 'deleted' | 'not_found'
  readonly error?: ServerError
  readonly get?: { readonly _source?: Readonly<Record<string, unknown>> }
}

interface BulkResponse extends HttpResponse {
  readonly items: readonly BulkItem[]
}

export interface Tally {
  created: number
  updated: number
  noop: number
  deleted: number
  refused: RejectedRow[]
  /** Items whose resulting document was returned, with that document. */
  shown: { readonly item: Buffer; readonly source: Readonly<Record<string, unknown>> }[]
}

export interface BulkTarget {
  /** As named in messages. */
  readonly target: string
  /** The alias used for writes. It is deleted together with its index and never created implicitly: see mart.ts. */
  readonly alias: string
  readonly isVersioned: boolean
  /** Others write at the same time with this fence: a document that one of them wrote later stays. Null: no other session does. */
  readonly sharedFence: bigint | null
  /** Sent before the items of every request; its result is ignored. */
  readonly preamble?: Buffer
  /** Called before every request: without versions, the server accepts a request no matter how late it arrives. */
  readonly requireLease?: (() => void) | undefined
}

const FILTER = 'errors,items.*.status,items.*.result,items.*.error,items.*.get._source'

/** Sends several bulks at a time and settles every item: done, rejected or sent again. */
export class BulkSender {
  readonly #cluster: Cluster
  readonly #parallel: number
  readonly #retryMs: number

  constructor(cluster: Cluster, parallel: number, retryMs: number) {
    this.#cluster = cluster
    this.#parallel = parallel
    this.#retryMs = retryMs
  }

  /** Returns when every item is settled. After an error, no request is still in flight. */
  async send(bulks: Iterator<Bulk>, to: BulkTarget): Promise<Tally> {
    const tally: Tally = { created: 0, updated: 0, noop: 0, deleted: 0, refused: [], shown: [] }
    const failures: unknown[] = []
    const lane = async () => {
      while (failures.length === 0) {
        const next = bulks.next()
        if (next.done) return
        await this.#settle(next.value, to, tally)
      }
    }
    const lanes = Array.from({ length: this.#parallel }, () => lane().catch((error) => failures.push(error)))
    await Promise.all(lanes)
    if (failures.length > 0) throw failures[0]
    return tally
  }

  async #settle(bulk: Bulk, to: BulkTarget, tally: Tally): Promise<void> {
    const backoff = new Backoff(this.#retryMs, this.#cluster.signal)
    for (let pending: Bulk | null = bulk; pending !== null; ) {
      const answer = await this.#post(pending, to)
      if (answer instanceof NoResponse) {
        if (isUntrusted(answer) || !(await backoff.wait())) throw unavailable(answer)
      } else if (answer.status === 413 || isUnreadable(answer)) {
        return this.#settleHalves(pending, { to, tally, answer })
      } else if (answer.status !== 200) {
        if (!isTemporary(answer.status) || !(await backoff.wait(answer.retryAfterMs)))
          throw sinkError(answer.status, errorOf(answer), to.target)
      } else {
        const again = new BulkResponseReader(pending, to, tally).read(answer.items)
        if (again.count < pending.rows.length) backoff.progressed()
        pending = again.bulk
        if (pending !== null && !(await backoff.wait())) throw again.problem
      }
    }
  }

  async #post({ bytes }: Bulk, to: BulkTarget): Promise<BulkResponse | NoResponse> {
    const { alias, preamble } = to
    to.requireLease?.()
    const body = preamble === undefined ? bytes : Buffer.concat([preamble, bytes])
    const path = `/${encodeURIComponent(alias)}/_bulk?require_alias=true&filter_path=${FILTER}`
    try {
      const answer = await this.#cluster.client.send({
        method: 'POST',
        path,
        body,
        signal: this.#cluster.signal,
      })
      const items = answer.status === 200 ? itemsOf(answer.body) : []
      return { ...answer, items: preamble === undefined ? items : items.slice(1) }
    } catch (error) {
      if (error instanceof NoResponse) return error
      throw error
    }
  }

  /** One item makes the server reject the whole request: find it by bisection and reject it alone. */
  async #settleHalves(
    bulk: Bulk,
    { to, tally, answer }: { to: BulkTarget; tally: Tally; answer: HttpResponse },
  ): Promise<void> {
    const count = bulk.rows.length
    if (count === 1) {
      const reason =
        answer.status === 413
          ? `The document has ${bulk.bytes.length} bytes, more than the server accepts in one request (413)`
          : reasonOf(errorOf(answer))
      tally.refused.push({ row: bulk.rows[0]!, reason })
      return
    }
    const half = Math.ceil(count / 2)
    await this.#settle(
      portion(bulk, (item) => item < half),
      to,
      tally,
    )
    await this.#settle(
      portion(bulk, (item) => item >= half),
      to,
      tally,
    )
  }
}

/** One unreadable document (duplicate field, nested too deeply, a number of a thousand digits) fails the whole request. */
function isUnreadable(answer: HttpResponse): boolean {
  return answer.status === 400 && /pars|stream_/.test(errorOf(answer).type)
}

/** Reads the response to one bulk item by item: HTTP returns 200 even when every document was rejected. */
class BulkResponseReader {
  readonly #bulk: Bulk
  readonly #to: BulkTarget
  readonly #tally: Tally

  constructor(bulk: Bulk, to: BulkTarget, tally: Tally) {
    this.#bulk = bulk
    this.#to = to
    this.#tally = tally
  }

  /** What has to be sent again, and the error to throw when no time is left for that. */
  read(items: readonly BulkItem[]): { bulk: Bulk | null; count: number; problem: VitrinaError | null } {
    if (items.length !== this.#bulk.rows.length)
      throw new VitrinaError(
        'SINK_REFUSED',
        `The response to a bulk of ${this.#bulk.rows.length} items contains ${items.length}.`,
        'Something between Vitrina and Elasticsearch alters responses; check where ELASTICSEARCH_URL leads.',
      )
    const again = new Set<number>()
    let problem: VitrinaError | null = null
    for (const [index, item] of items.entries()) {
      if (this.#isSettled(index, item)) continue
      again.add(index)
      problem ??= sinkError(item.status, item.error!, this.#to.target)
    }
    const bulk = again.size === 0 ? null : portion(this.#bulk, (index) => again.has(index))
    return { bulk, count: again.size, problem }
  }

  #isSettled(index: number, item: BulkItem): boolean {
    if (item.error === undefined) {
      this.#count(index, item)
      return true
    }
    const { status, error } = item
    if (status === 409) {
      if (!this.#to.isVersioned) return false
      if (!this.#isShared(reasonOf(error))) throw stale(this.#to.target, reasonOf(error))
      this.#tally.noop += 1
      return true
    }
    if (isTemporary(status)) return false
    // The document does not exist, so there is nothing to remove from it.
    if (error.type === 'document_missing_exception') return true
    if (status === 400 && error.type !== 'index_closed_exception') {
      this.#tally.refused.push({ row: this.#bulk.rows[index]!, reason: reasonOf(error) })
      return true
    }
    throw sinkError(status, error, this.#to.target)
  }

  /** Written by a later claim of the part, or by another part to which a transform gave the same key. */
  #isShared(reason: string): boolean {
    const { sharedFence } = this.#to
    const current = /current version \[(\d+)\]/.exec(reason)?.[1]
    return sharedFence !== null && current !== undefined && fenceOf(BigInt(current)) === sharedFence
  }

  #count(index: number, { result, get }: BulkItem): void {
    if (result !== undefined && result !== 'not_found') this.#tally[result] += 1
    if (get?._source !== undefined && result !== 'created')
      this.#tally.shown.push({ item: bytesOf(this.#bulk, index), source: get._source })
  }
}

/** Throws when the body is not a bulk response: the outcome of its items is then unknown. */
function itemsOf(body: string): BulkItem[] {
  try {
    const { items } = JSON.parse(body) as { items: Record<string, BulkItem>[] }
    return items.map((action) => Object.values(action)[0]!)
  } catch (error) {
    throw new NoResponse('the response is not a bulk response', { cause: error })
  }
}

function stale(target: string, reason: string): VitrinaError {
  return new VitrinaError(
    'SINK_GONE',
    `${target} contains documents of a later writer than this run: ${reason}`,
    'If another runner has taken over the pipeline, no action is needed. If the pipeline was recreated or its database restored, its versions are lower than those in the index: rebuild the index with one run in full_strategy replace, or delete it.',
  )
}

function bytesOf({ bytes, ends }: Bulk, index: number): Buffer {
  return bytes.subarray(index === 0 ? 0 : ends[index - 1], ends[index])
}

function portion(bulk: Bulk, isChosen: (index: number) => boolean): Bulk {
  const chosen = bulk.rows.map((_, index) => index).filter(isChosen)
  return gathered(
    chosen.map((index) => bytesOf(bulk, index)),
    chosen.map((index) => bulk.rows[index]!),
  )
}

function gathered(items: readonly Buffer[], rows: readonly number[]): Bulk {
  let end = 0
  const ends = items.map((item) => {
    end += item.length
    return end
  })
  return { bytes: Buffer.concat(items, end), ends, rows }
}

/** Groups items that are ready into bulks of at most this many bytes. */
export function* bulksOf(items: Iterable<Buffer>, bytes: number): Generator<Bulk> {
  let gathering: Buffer[] = []
  let size = 0
  let first = 0
  const bulk = () =>
    gathered(
      gathering,
      gathering.map((_, index) => first + index),
    )
  for (const item of items) {
    if (gathering.length > 0 && size + item.length > bytes) {
      yield bulk()
      first += gathering.length
      gathering = []
      size = 0
    }
    gathering.push(item)
    size += item.length
  }
  if (gathering.length > 0) yield bulk()
}

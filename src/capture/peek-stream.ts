import { setTimeout as delay } from 'node:timers/promises'
import type { Session } from '../postgres/session.js'
import { quoteLiteral } from '../sql/identifiers.js'
import type { ChangeStream, Received, Receiving } from './change-stream.js'
import { Decoder } from './decoder.js'
import { formatLsn, type Lsn, laterLsn, NO_LSN, parseLsn } from './lsn.js'
import { SlotMoved } from './slot.js'
import { type Transaction, TransactionBuilder } from './transaction-builder.js'
import type { StreamOptions } from './wal-stream.js'

const POLL_MS = 100
/** Messages in the memory of this process at a time. */
const FETCH = 2_000
/** Changes after which one peek ends, at the end of a transaction. */
const MOST_CHANGES = 50_000

/**
 * The same through SQL functions, where a pooler refuses replication connections. Every peek decodes again from
 * restart_lsn, so it is slower, and an open transaction makes it slower still.
 */
export class PeekStream implements ChangeStream {
  readonly way = 'peek'
  readonly #session: Session
  readonly #options: StreamOptions
  /** Where our last acknowledgement left the slot. Another session must not have moved it. */
  #confirmed: Lsn
  /** Ends of the transactions that were returned; a peek before they are acknowledged sees them again. */
  #returned: Lsn = NO_LSN
  /** The flushed position of the last peek: without more WAL there is nothing to read. */
  #seen: Lsn = NO_LSN
  #heard: () => void = () => {}

  private constructor(session: Session, options: StreamOptions, confirmed: Lsn) {
    this.#session = session
    this.#options = options
    this.#confirmed = confirmed
  }

  static async open(session: Session, options: StreamOptions): Promise<PeekStream> {
    return new PeekStream(session, options, await confirmedOf(session, options.slot))
  }

  async receive({ wanted, timeoutMs }: Receiving): Promise<Received> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const received = await this.#receive()
      const isReached = wanted() > NO_LSN && received.reached >= wanted()
      if (received.transactions.length > 0 || isReached || performance.now() >= deadline) return received
      await this.#pause()
    }
  }

  async acknowledge(upto: Lsn): Promise<void> {
    const { slot } = this.#options
    const [row] = await this.#session.rows(
      'SELECT end_lsn::text AS confirmed FROM pg_replication_slot_advance($1, $2::pg_lsn)',
      [slot, formatLsn(upto)],
    )
    this.#confirmed = parseLsn(row!.confirmed!)
  }

  wake(): void {
    this.#heard()
  }

  async close(): Promise<void> {}

  async #receive(): Promise<Received> {
    const { slot } = this.#options
    // Before the peek, so that everything up to it is included.
    const [row] = await this.#session.rows('SELECT pg_current_wal_flush_lsn()::text AS flushed')
    const flushed = parseLsn(row!.flushed!)
    if (flushed === this.#seen) return { transactions: [], reached: flushed }
    const { transactions, isCut } = await this.#peek()
    // A session that moved the slot before or during the peek has hidden changes from it.
    if ((await confirmedOf(this.#session, slot)) !== this.#confirmed) throw new SlotMoved()
    const last = transactions.at(-1)?.endLsn ?? NO_LSN
    // A commit record that lies across the flushed position is decoded as a whole, and ends after it.
    const reached = isCut ? last : laterLsn(flushed, last)
    const fresh = transactions.filter(({ endLsn, changes }) => endLsn > this.#returned && changes.length > 0)
    this.#returned = laterLsn(last, this.#returned)
    if (!isCut) this.#seen = flushed
    return { transactions: fresh, reached }
  }

  async #peek(): Promise<{ transactions: Transaction[]; isCut: boolean }> {
    const { slot, publication, needs, limits } = this.#options
    const decoder = new Decoder()
    const builder = new TransactionBuilder(needs, limits)
    const transactions: Transaction[] = []
    let count = 0
    await this.#session.run(
      `BEGIN; DECLARE changes NO SCROLL CURSOR FOR SELECT data FROM pg_logical_slot_peek_binary_changes(
         ${quoteLiteral(slot)}, NULL, ${MOST_CHANGES}, 'proto_version', '1', 'publication_names', ${quoteLiteral(`"${publication}"`)})`,
    )
    try {
      for (;;) {
        const rows = await this.#session.rows(`FETCH ${FETCH} FROM changes`)
        for (const { data } of rows) {
          const ended = builder.add(decoder.decode(Buffer.from(data!.slice(2), 'hex'), builder.isNeeded))
          if (ended !== null) transactions.push(ended)
        }
        count += rows.length
        if (rows.length < FETCH) return { transactions, isCut: count >= MOST_CHANGES }
      }
    } finally {
      await this.#session.run('ROLLBACK').catch(() => {})
    }
  }

  async #pause(): Promise<void> {
    const waiting = new AbortController()
    const heard = new Promise<void>((resolve) => {
      this.#heard = resolve
    })
    await Promise.race([heard, delay(POLL_MS, undefined, { signal: waiting.signal }).catch(() => {})])
    waiting.abort()
  }
}

async function confirmedOf(session: Session, slot: string): Promise<Lsn> {
  const [row] = await session.rows(
    'SELECT confirmed_flush_lsn::text AS confirmed FROM pg_replication_slots WHERE slot_name = $1',
    [slot],
  )
  if (row?.confirmed == null) throw new SlotMoved()
  return parseLsn(row.confirmed)
}

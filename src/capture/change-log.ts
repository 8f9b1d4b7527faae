import { VitrinaError } from '../model/errors.js'
import type { Session } from '../postgres/session.js'
import { HEAD_COLUMNS, type Head, readHead } from './head.js'
import type { KnownCommit } from './history-check.js'
import type { LoggedChange, Needs } from './images.js'
import { formatLsn, type Lsn } from './lsn.js'
import { MOVED_CHANNEL } from './signals.js'
import type { CreatedSlot, SlotState } from './slot.js'

/** An entry to be written. */
export interface NewEntry extends LoggedChange {
  readonly endLsn: Lsn
  readonly seq: number
  readonly xid: bigint
}

export interface LogBatch {
  readonly entries: readonly NewEntry[]
  readonly upto: Lsn
  /** The newest commit with entries, when there is one. */
  readonly last: KnownCommit | null
}

/** Entries of one INSERT. */
const CHUNK = 5_000

/** What a captor writes to the main database. Every statement carries the fence of its claim. */
export class ChangeLog {
  readonly #main: Session
  readonly #head: number
  readonly #owner: string
  #fence = '-1'
  #generation = '-1'

  constructor(main: Session, head: number, owner: string) {
    this.#main = main
    this.#head = head
    this.#owner = owner
  }

  /** Null: another runner holds the head. The fence grows, so a holder that wakes up later cannot write any more. */
  async claim(leaseSeconds: number): Promise<Head | null> {
    const [row] = await this.#main.rows(
      `UPDATE etl.etl_change_heads SET owner = $2, leased_until = clock_timestamp() + make_interval(secs => $3::int), fence = fence + 1
        WHERE id = $1 AND (owner IS NULL OR leased_until < clock_timestamp()) RETURNING ${HEAD_COLUMNS}`,
      [this.#head, this.#owner, leaseSeconds],
    )
    if (row === undefined) return null
    return this.#use(readHead(row))
  }

  /** By a separate session: a transaction of the log may be in progress. */
  async renew(session: Session, leaseSeconds: number): Promise<void> {
    const touched = await session.count(
      `UPDATE etl.etl_change_heads SET leased_until = clock_timestamp() + make_interval(secs => $3::int) WHERE id = $1 AND fence = $2`,
      [this.#head, this.#fence, leaseSeconds],
    )
    if (touched === 0) throw leaseLost()
  }

  /** Lets another runner, or this one, claim it at once. */
  async release(): Promise<void> {
    await this.#fenced('SET owner = NULL, leased_until = NULL')
  }

  /**
   * Writes the entries and the position of the log, together or not at all. Throws LEASE_LOST when another captor has
   * taken over.
   */
  async write(batch: LogBatch): Promise<void> {
    if (batch.entries.length <= CHUNK) return this.#writeOnce(batch)
    await this.#main.run('BEGIN')
    try {
      const [first, ...more] = chunks(batch.entries)
      await this.#writeOnce({ ...batch, entries: first! })
      for (const entries of more) await this.#insert(entries)
      await this.#main.run('COMMIT')
    } catch (error) {
      await this.#main.run('ROLLBACK').catch(() => {})
      throw error
    }
  }

  /** One statement: a process that is frozen in the middle of it holds no lock. */
  async #writeOnce({ entries, upto, last }: LogBatch): Promise<void> {
    const values = columnsOf(entries)
    const rows = await this.#main.rows(
      `WITH head AS (
         UPDATE etl.etl_change_heads SET upto = $8, last = coalesce($9::pg_lsn, last), last_xid = coalesce($10::text::xid8, last_xid), last_stamp = coalesce($15::bigint, last_stamp), updated_at = now()
          WHERE id = $11 AND fence = $12 AND generation = $13 RETURNING id),
       written AS (INSERT INTO etl.etl_changes (head, ${ENTRY_COLUMNS}) SELECT head.id, ${ENTRY_VALUES} FROM head, ${ENTRIES})
       SELECT pg_notify('${MOVED_CHANNEL}', concat_ws(' ', id, $8::text, $14::text)) FROM head`,
      [
        ...values,
        formatLsn(upto),
        last === null ? null : formatLsn(last.endLsn),
        last === null ? null : String(last.xid),
        this.#head,
        this.#fence,
        this.#generation,
        String(entries.length),
        last === null ? null : String(last.stamp),
      ],
    )
    if (rows.length === 0) throw leaseLost()
  }

  async #insert(entries: readonly NewEntry[]): Promise<void> {
    await this.#main.rows(
      `INSERT INTO etl.etl_changes (head, ${ENTRY_COLUMNS}) SELECT $8::int, ${ENTRY_VALUES} FROM ${ENTRIES}`,
      [...columnsOf(entries), this.#head],
    )
  }

  /** Before a slot is created or dropped: from here on the log cannot be used. */
  async abandon(reason: string | null): Promise<void> {
    await this.#inTransaction(async () => {
      await this.#fenced(
        `SET has_slot = true, start_snapshot = NULL, lost = coalesce($3, lost), lost_at = CASE WHEN $3::text IS NULL THEN lost_at ELSE now() END`,
        [reason],
      )
      await this.#clear()
    })
  }

  /** A new slot, and with it a new generation with an empty log. */
  async begin(
    slot: CreatedSlot,
    { system, timeline }: Pick<SlotState, 'system' | 'timeline'>,
  ): Promise<Head> {
    const published = Object.fromEntries(slot.members.map((oid) => [oid, '0']))
    const head = await this.#inTransaction(async () => {
      await this.#clear()
      const [row] = await this.#main.rows(
        `UPDATE etl.etl_change_heads
            SET generation = greatest(generation + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint), upto = $3, last = $3, last_xid = NULL, last_stamp = NULL,
                trimmed = '0/0', system = $4, timeline = $5, start_snapshot = $6, published = $7, has_slot = true, updated_at = now()
          WHERE id = $1 AND fence = $2 RETURNING ${HEAD_COLUMNS}`,
        [
          this.#head,
          this.#fence,
          formatLsn(slot.start),
          system,
          timeline,
          slot.snapshot,
          JSON.stringify(published),
        ],
      )
      if (row === undefined) throw leaseLost()
      return readHead(row)
    })
    return this.#use(head)
  }

  async slotDropped(): Promise<void> {
    await this.#fenced('SET has_slot = false, held_bytes = NULL, lag_bytes = NULL, way = NULL')
  }

  /** What the tick saw. */
  async observe(seen: {
    readonly way: 'stream' | 'peek'
    readonly heldBytes: number | null
    readonly lagBytes: number | null
  }): Promise<void> {
    await this.#fenced(
      'SET way = $3, held_bytes = $4, lag_bytes = $5, error = NULL, error_code = NULL, error_since = NULL, updated_at = now()',
      [seen.way, seen.heldBytes, seen.lagBytes],
    )
  }

  async fail(error: { readonly code: string; readonly message: string }): Promise<void> {
    await this.#fenced(
      `SET error = $3, error_code = $4, error_since = coalesce(error_since, now()), updated_at = now()`,
      [error.message, error.code],
    )
  }

  async publish(published: Readonly<Record<string, string>>): Promise<void> {
    await this.#fenced('SET published = $3', [JSON.stringify(published)])
  }

  /** The tables of all registered pipelines with the columns that are needed of each; null: no pipeline is registered. */
  async needs(): Promise<Needs | null> {
    const rows = await this.#main.rows(
      `SELECT r.key AS relation, c.name FROM etl.etl_change_positions p
         LEFT JOIN jsonb_each(p.relations) AS r(key, columns) ON true
         LEFT JOIN jsonb_array_elements_text(r.columns) AS c(name) ON true WHERE p.head = $1`,
      [this.#head],
    )
    if (rows.length === 0) return null
    const needs = new Map<string, Set<string>>()
    for (const { relation, name } of rows) {
      if (relation == null) continue
      const columns = needs.get(relation) ?? new Set<string>()
      if (name != null) columns.add(name)
      needs.set(relation, columns)
    }
    return needs
  }

  /**
   * Removes what every registered pipeline of this generation has passed. What is older than `oldest` goes in any case,
   * so that a pipeline that never runs does not fill the disk: it finds its position below `trimmed` and reads
   * everything. Never beyond a transaction that some snapshot on the source may not see yet (`xmin`).
   */
  async trim(oldest: Lsn, xmin: bigint): Promise<void> {
    await this.#main.rows(
      `WITH passed AS (
         SELECT coalesce(min(CASE WHEN p.generation = h.generation THEN p.end_lsn ELSE '0/0' END), '0/0') AS lsn
           FROM etl.etl_change_heads h LEFT JOIN etl.etl_change_positions p ON p.head = h.id WHERE h.id = $1),
       hidden AS (SELECT min(end_lsn) AS lsn FROM etl.etl_changes WHERE head = $1 AND end_lsn <= $2 AND xid >= $3::text::xid8),
       target AS (SELECT greatest(passed.lsn, least($2::pg_lsn, coalesce(hidden.lsn - 1, $2))) AS lsn FROM passed, hidden),
       moved AS (UPDATE etl.etl_change_heads h SET trimmed = target.lsn FROM target
                  WHERE h.id = $1 AND h.fence = $4 AND h.generation = $5 AND target.lsn > h.trimmed
                    AND EXISTS (SELECT FROM etl.etl_changes c WHERE c.head = $1 AND c.end_lsn <= target.lsn) RETURNING target.lsn)
       DELETE FROM etl.etl_changes c USING moved WHERE c.head = $1 AND c.end_lsn <= moved.lsn`,
      [this.#head, formatLsn(oldest), String(xmin), this.#fence, this.#generation],
    )
  }

  async #clear(): Promise<void> {
    await this.#main.rows('DELETE FROM etl.etl_changes WHERE head = $1', [this.#head])
  }

  #use(head: Head): Head {
    this.#fence = head.fence
    this.#generation = head.generation
    return head
  }

  async #fenced(set: string, values: readonly unknown[] = []): Promise<void> {
    const touched = await this.#main.count(
      `UPDATE etl.etl_change_heads ${set} WHERE id = $1 AND fence = $2`,
      [this.#head, this.#fence, ...values],
    )
    if (touched === 0) throw leaseLost()
  }

  async #inTransaction<T>(work: () => Promise<T>): Promise<T> {
    await this.#main.run('BEGIN')
    try {
      const result = await work()
      await this.#main.run('COMMIT')
      return result
    } catch (error) {
      await this.#main.run('ROLLBACK').catch(() => {})
      throw error
    }
  }
}

const ENTRY_COLUMNS = 'end_lsn, seq, xid, relation, op, old, new'
const ENTRY_VALUES =
  'e.end_lsn::pg_lsn, e.seq, e.xid::xid8, e.relation, e.op::"char", e.old::jsonb, e.new::jsonb'
const ENTRIES =
  'unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) AS e(end_lsn, seq, xid, relation, op, old, new)'

function columnsOf(entries: readonly NewEntry[]): unknown[][] {
  return [
    entries.map(({ endLsn }) => formatLsn(endLsn)),
    entries.map(({ seq }) => seq),
    entries.map(({ xid }) => String(xid)),
    entries.map(({ relation }) => relation),
    entries.map(({ op }) => op),
    entries.map((entry) => jsonOrNull(entry.old)),
    entries.map((entry) => jsonOrNull(entry.new)),
  ]
}

function jsonOrNull(image: LoggedChange['old']): string | null {
  return image === null ? null : JSON.stringify(image)
}

function chunks(entries: readonly NewEntry[]): NewEntry[][] {
  const count = Math.ceil(entries.length / CHUNK)
  return Array.from({ length: count }, (_, index) => entries.slice(index * CHUNK, (index + 1) * CHUNK))
}

function leaseLost(): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    'Another runner captures the changes of this source now.',
    'No action needed: this runner stops writing the log.',
  )
}

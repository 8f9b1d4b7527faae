import type { Session } from '../../postgres/session.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { asRelation, type Column, type Cursor, range, where } from '../../sql/selection.js'
import type { PagedReader } from './paged.js'
import type { Portion, Reader, SourceQuery } from './reader.js'

/** Pages in a row that are moved without a comparison where many differ. */
const MOST_UNCOMPARED = 8

/**
 * Types that are equal only if they look the same, so that their own hash can be used, which is much faster than that of
 * their text: bool, bytea, char, integers, text, date, time, timestamps, uuid. Others have values that are equal and look
 * different, such as 1.0 and 1.00, or 1 day and 24 hours.
 */
const EXACT_TYPES: ReadonlySet<number> = new Set([16, 17, 18, 20, 21, 23, 1082, 1083, 1114, 1184, 2950])
const TEXT_TYPES: ReadonlySet<number> = new Set([25, 1043])

interface Compared {
  readonly query: SourceQuery
  /** In another database, with the same types. */
  readonly session: Session
  readonly table: TargetTable
}

/**
 * Pages of a pass over a mart that is filled already. Both databases hash the rows of a page at the same time; a page
 * with the same hashes is not moved. So a pass that finds nothing changed moves nothing.
 */
export class DifferingPages implements Reader<string> {
  readonly #pages: PagedReader
  readonly #compared: Compared
  #uncompared = 0
  #inRow = 0

  constructor(pages: PagedReader, compared: Compared) {
    this.#pages = pages
    this.#compared = compared
  }

  async next(limit: number): Promise<Portion<string> | null> {
    const page = await this.#pages.next(limit)
    if (page === null || this.#uncompared-- > 0) return page
    const from = performance.now()
    const count = await this.#sameRows(page.after, page.last)
    const isSame = count !== null
    this.#inRow = isSame ? 0 : Math.min(this.#inRow * 2 + 1, MOST_UNCOMPARED)
    this.#uncompared = this.#inRow
    const phases = [...page.phases, { name: 'read' as const, from, to: performance.now() }]
    return isSame ? { ...page, count, isUnchanged: true, phases } : { ...page, phases }
  }

  /** How many rows both have in this range; null: they are not the same. */
  async #sameRows(after: Cursor | null, last: Cursor | null): Promise<number | null> {
    const { query, session, table } = this.#compared
    const { source, order } = query
    const within = where(range(order, after, last))
    const [there, here] = await Promise.all([
      hashes(source, query.columns, `${asRelation(query.query)}${within}`),
      hashes(session, query.columns, `${table.quoted}${within}`),
    ])
    return there.rows === here.rows && there.first === here.first && there.second === here.second
      ? Number(there.rows)
      : null
  }
}

type Hashes = { readonly rows: string; readonly first: string; readonly second: string }

/**
 * A hash of 64 bits for each row, added up over the rows as it is and mixed once more: equal rows in another order have
 * the same sums, and changes of two rows do not cancel each other out. OFFSET 0, so that the hash is computed once.
 */
function hashes(session: Session, columns: readonly Column[], from: string): Promise<Hashes> {
  return session.row<Hashes>(
    `SELECT count(*)::text AS rows, coalesce(sum(h), 0)::text AS first, coalesce(sum(hashint8extended(h, 1)), 0)::text AS second
       FROM (SELECT hash_record_extended(ROW(${columns.map(hashed).join(', ')}), 0) AS h FROM ${from} OFFSET 0) AS hashed`,
  )
}

function hashed({ name, typeOid }: Column): string {
  const column = quoteIdentifier(name)
  if (EXACT_TYPES.has(typeOid)) return column
  return `${TEXT_TYPES.has(typeOid) ? column : `${column}::text`} COLLATE "C"`
}

import type { TextRow } from '../postgres/session.js'
import type { KnownCommit } from './history-check.js'
import { type Lsn, parseLsn } from './lsn.js'

/** The row of a source database in etl.etl_change_heads. */
export interface Head {
  readonly id: number
  /** `main`, or the name of a connection. */
  readonly connection: string
  readonly slot: string
  readonly publication: string
  /** A bigint as text. `0`: there is no log yet. */
  readonly generation: string
  /** Every commit that ends at or before it is in the log. */
  readonly upto: Lsn
  readonly last: KnownCommit | null
  /** Entries at or before it were removed. */
  readonly trimmed: Lsn
  readonly system: string | null
  readonly timeline: number | null
  readonly startSnapshot: string | null
  /** Membership of a table in the publication → the number that every open transaction must have reached. */
  readonly published: Readonly<Record<string, string>>
  readonly hasSlot: boolean
  readonly owner: string | null
  readonly fence: string
  readonly error: string | null
}

export const HEAD_COLUMNS = `id, connection, slot, publication, generation::text, upto::text, last::text, last_xid::text, last_stamp::text, trimmed::text,
  system, timeline::text, start_snapshot, published::text, has_slot::text, owner, fence::text, error`

export function readHead(row: TextRow): Head {
  return {
    id: Number(row.id),
    connection: row.connection!,
    slot: row.slot!,
    publication: row.publication!,
    generation: row.generation!,
    upto: parseLsn(row.upto!),
    last:
      row.last_xid == null
        ? null
        : { endLsn: parseLsn(row.last!), xid: BigInt(row.last_xid), stamp: BigInt(row.last_stamp!) },
    trimmed: parseLsn(row.trimmed!),
    system: row.system!,
    timeline: row.timeline === null ? null : Number(row.timeline),
    startSnapshot: row.start_snapshot!,
    published: JSON.parse(row.published!) as Record<string, string>,
    hasSlot: row.has_slot === 'true',
    owner: row.owner!,
    fence: row.fence!,
    error: row.error!,
  }
}

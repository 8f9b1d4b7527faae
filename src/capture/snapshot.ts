import type { Lsn } from './lsn.js'

/** `pg_snapshot`: which transactions a query can see. */
export interface Snapshot {
  readonly xmin: bigint
  readonly xmax: bigint
  /** Those between xmin and xmax that had not ended. */
  readonly open: ReadonlySet<bigint>
}

/** Reads `xmin:xmax:xip,xip`. */
export function parseSnapshot(text: string): Snapshot {
  const [xmin, xmax, open] = text.split(':')
  if (xmin === undefined || xmax === undefined) throw new TypeError(`"${text}" is not a snapshot.`)
  return {
    xmin: BigInt(xmin),
    xmax: BigInt(xmax),
    open: new Set(open ? open.split(',').map(BigInt) : []),
  }
}

/** Whether the snapshot sees what the transaction did. Only for transactions that have committed. */
export function isVisible(xid: bigint, { xmin, xmax, open }: Snapshot): boolean {
  return xid < xmin || (xid < xmax && !open.has(xid))
}

export interface Gate {
  /** Everything up to here is visible in the snapshot and need not be read again. */
  readonly position: Lsn
  /** Entries after it: some are visible, but the first is not. */
  readonly held: number
}

/**
 * The end of the longest prefix of entries that the snapshot sees; `upto` when it sees them all. A commit can be
 * decoded before it becomes visible (it may wait for a synchronous standby), so its entry is used and read once more.
 */
export function gate(
  entries: readonly { readonly endLsn: Lsn; readonly xid: bigint }[],
  snapshot: Snapshot,
  upto: Lsn,
): Gate {
  const hidden = entries.findIndex(({ xid }) => !isVisible(xid, snapshot))
  if (hidden < 0) return { position: upto, held: 0 }
  // Positions are compared with the ENDS of commit records, so nothing lies between the previous end and this one.
  return { position: entries[hidden]!.endLsn - 1n, held: entries.length - hidden }
}

/**
 * Whether a first read in `snapshot` sees everything that the slot will not report. `start` is the snapshot that was
 * exported with the slot: what it sees was committed before the slot begins. A commit that waits for a synchronous
 * standby may be older than the slot and still invisible.
 */
export function coversStart(snapshot: Snapshot, start: Snapshot): boolean {
  if (snapshot.xmax < start.xmax) return false
  for (const xid of snapshot.open) if (isVisible(xid, start)) return false
  return true
}

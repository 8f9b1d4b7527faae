import {
  type Checkpoint,
  type Committed,
  cursorFrom,
  type Moment,
  type Position,
} from '../checkpoints/checkpoint.js'
import { incrementalKeys, type Pipeline } from '../model/pipeline.js'
import { beyond, type Column } from '../sql/selection.js'

/** A part of the source and how much of it the pipeline has read. */
export interface ReadRange {
  /** SQL on a row of the query. A row belongs to the first part whose condition is true. */
  readonly where: string
  /** Every row; none; or those that have not changed since a moment. */
  readonly read: 'all' | 'none' | Moment
}

/** How much of the source a pipeline has processed. A difference beyond that is on its way, not drift. */
export interface ReadProgress {
  readonly parts: readonly ReadRange[]
  /** The next run removes a row that changed since then and left the result. Null: this pipeline does not find removals by row version. */
  readonly leavesSince: Moment | null
  /** Every run compares every row, and so repairs rows that it wrote itself and that no longer match the source. */
  readonly rereads: boolean
  /** Deleting a row of the source may change a row of the mart without leaving a trace. */
  readonly isSpread: boolean
  /** The last full pass found older rows of the mart equal. */
  readonly equalUntil: Committed | null
  /** What is known about the transaction numbers of its own rows. */
  readonly wrote: { readonly number: string; readonly isOnly: boolean } | null
  /** Every run removes rows that the source no longer has. */
  readonly removes: boolean
  /** Older rows of the mart were in the source when rows were last removed. */
  readonly presentUntil: Committed | null
  /** Rows were refused: the mart still has their old versions although no other session touched them. */
  readonly refusedRows: boolean
  /** A run is requested, under way or paused. */
  readonly isUnderWay: boolean
  /** The first run has not written anything yet, so it may still remove everything in the mart. */
  readonly beginning: boolean
}

/** What determines how a pipeline reads. */
export interface ProgressFacts {
  readonly pipeline: Pipeline
  readonly columns: readonly Column[]
  readonly key: readonly Column[]
  /** Positions with another fingerprint are meaningless. */
  readonly fingerprint: string
  /** A row of the mart is made of several rows of the source. */
  readonly isSpread: boolean
}

/** The checkpoint must not contain moments that the server has forgotten or that belong to another server. */
export function readProgressOf(facts: ProgressFacts, checkpoint: Checkpoint): ReadProgress {
  const { pipeline, isSpread } = facts
  const position = relevant(checkpoint.position, facts.fingerprint)
  const isUnderWay = !['IDLE', 'FAILED'].includes(pipeline.status)
  const byKey = pipeline.mode === 'incremental' && pipeline.capture === 'key'
  const isReplace = pipeline.mode === 'full' && pipeline.fullStrategy === 'replace'
  const sweeps = pipeline.deletes === 'sweep' && !isReplace
  return {
    parts: byKey ? partsByCursor(facts, checkpoint, isUnderWay) : partsByVersion(facts, position, isUnderWay),
    leavesSince:
      pipeline.mode === 'incremental' && pipeline.capture !== 'key'
        ? (position.xmin ?? position.next?.xmin ?? position.xminNext ?? null)
        : null,
    rereads:
      (pipeline.mode === 'full' || (sweeps && isSpread)) &&
      (position.read !== undefined || position.pass !== undefined),
    isSpread,
    equalUntil: position.read?.mart ?? null,
    wrote: position.read?.wrote ?? null,
    removes: isReplace || sweeps,
    presentUntil: position.swept?.mart ?? position.pass?.begun?.mart ?? null,
    refusedRows: (position.run?.rows.quarantined ?? 0) > 0,
    isUnderWay,
    beginning: isUnderWay && position.run === undefined,
  }
}

/** Drops what belongs to another query or target. */
function relevant(position: Position, fingerprint: string): Position {
  const { pass, read, swept, ...rest } = position
  return {
    ...rest,
    ...(pass?.fingerprint === fingerprint ? { pass } : {}),
    ...(read?.fingerprint === fingerprint ? { read } : {}),
    ...(swept?.fingerprint === fingerprint ? { swept } : {}),
  }
}

/** Rows beyond the checkpoint have not been read, or will be read again. */
function partsByCursor(
  { pipeline, columns, key }: ProgressFacts,
  checkpoint: Checkpoint,
  isUnderWay: boolean,
): ReadRange[] {
  const modified = incrementalKeys(pipeline, columns)
  if (modified.length > 1 && checkpoint.key !== null)
    return partsBySeveralKeys(modified, columns, checkpoint.key)
  const names = new Set([...modified, pipeline.incrementalIdKey, ...key.map(({ name }) => name)])
  const order = [...names].flatMap((name) => columns.filter((column) => column.name === name))
  const cursor = cursorFrom(
    checkpoint,
    order.map(({ name }) => name),
  )
  if (cursor !== null) {
    const passed = beyond({ columns: order }, '<=', cursor)
    return [
      { where: passed, read: 'all' },
      { where: 'true', read: 'none' },
    ]
  }
  // It has run, but an open transaction kept the checkpoint at the start.
  const isHeldBack = checkpoint.position.run !== undefined && checkpoint.position.cursor === undefined
  return [{ where: 'true', read: isHeldBack || isUnderWay ? 'none' : 'all' }]
}

/** A row has been read if none of its keys is beyond the checkpoint. */
function partsBySeveralKeys(
  names: readonly string[],
  columns: readonly Column[],
  checkpoint: string,
): ReadRange[] {
  const passed = columns
    .filter(({ name }) => names.includes(name))
    .map((column) => `(${beyond({ columns: [column] }, '<=', [checkpoint])}) IS NOT FALSE`)
  return [
    { where: passed.join(' AND '), read: 'all' },
    { where: 'true', read: 'none' },
  ]
}

/** A row counts as read if it has not changed since the pass that read it began. */
function partsByVersion(
  { pipeline, key }: ProgressFacts,
  position: Position,
  isUnderWay: boolean,
): ReadRange[] {
  const isFull = pipeline.mode === 'full'
  const done = (isFull ? position.read?.source : position.xmin) ?? null
  const { pass } = position
  if (pass === undefined || pass.name !== (isFull ? 'full' : 'initial'))
    // Without a record of what was read, no difference counts as on its way unless a run is about to read.
    return [{ where: 'true', read: done ?? (isUnderWay ? 'none' : 'all') }]
  const since = (isFull ? pass.begun?.source : position.xminNext) ?? null
  const rest: ReadRange = { where: 'true', read: done ?? 'none' }
  return since === null || pass.after === null
    ? [rest]
    : [{ where: beyond({ columns: key }, '<=', pass.after), read: since }, rest]
}

import {
  type Checkpoint,
  type Committed,
  cursorFrom,
  type Moment,
  type Position,
} from '../checkpoints/checkpoint.js'
import type { Pipeline } from '../model/pipeline.js'
import { beyond, type Column } from '../sql/selection.js'

/** A part of the source, and how much of it the pipeline has read. */
export interface Part {
  /** SQL on a row of the query. Of several parts, the first that is true for a row holds it. */
  readonly where: string
  /** Every row; none; or those that have not changed since a moment. */
  readonly read: 'all' | 'none' | Moment
}

/** How far a pipeline has come. Whatever lies beyond is on its way, and no drift. */
export interface Arrival {
  readonly parts: readonly Part[]
  /** A row that changed since then and left the result is removed by the next run. Null: it is not looked for so. */
  readonly leavesSince: Moment | null
  /** Every run compares every row, so that it mends what the pipeline itself wrote and the source no longer says. */
  readonly rereads: boolean
  /** A row of the source may go away and change a row of the mart by that, without a trace. */
  readonly isSpread: boolean
  /** A row of the mart that is older was found equal by the last pass over everything. */
  readonly equalUntil: Committed | null
  /** What is known of the numbers that its own rows have. */
  readonly wrote: { readonly number: string; readonly isOnly: boolean } | null
  /** Every run removes rows that the source no longer has. */
  readonly removes: boolean
  /** A row of the mart that is older was in the source when that was last done. */
  readonly presentUntil: Committed | null
  /** Rows were refused: what the mart has in their place is old, although nobody touched it. */
  readonly refusedRows: boolean
  /** A run is requested, under way or paused. */
  readonly isUnderWay: boolean
  /** The first run has not written anything yet: all that is in the mart is still before it. */
  readonly beginning: boolean
}

/** What the way a pipeline reads depends on. */
export interface ArrivalFacts {
  readonly pipeline: Pipeline
  readonly columns: readonly Column[]
  readonly key: readonly Column[]
  /** What positions must speak of to mean anything. */
  readonly fingerprint: string
  /** A row of the mart is made of several rows of the source. */
  readonly isSpread: boolean
}

/** Moments that a server has forgotten, or that another server spoke of, are left out of the checkpoint before. */
export function arrivalOf(facts: ArrivalFacts, checkpoint: Checkpoint): Arrival {
  const { pipeline, isSpread } = facts
  const position = relevant(checkpoint.position, facts.fingerprint)
  const isUnderWay = !['IDLE', 'FAILED'].includes(pipeline.status)
  const byKey = pipeline.mode === 'incremental' && pipeline.capture === 'key'
  const isReplace = pipeline.mode === 'full' && pipeline.fullStrategy === 'replace'
  const sweeps = pipeline.deletes === 'sweep' && !isReplace
  return {
    parts: byKey ? partsByCursor(facts, checkpoint, isUnderWay) : partsByVersion(facts, position, isUnderWay),
    leavesSince:
      pipeline.mode === 'incremental' && pipeline.capture === 'xmin'
        ? (position.xmin ?? position.xminNext ?? null)
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

/** Without what speaks of another query or target. */
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
  { pipeline, columns, key }: ArrivalFacts,
  checkpoint: Checkpoint,
  isUnderWay: boolean,
): Part[] {
  const names = new Set([pipeline.incrementalKey, pipeline.incrementalIdKey, ...key.map(({ name }) => name)])
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
  // It has run, and an open transaction has kept the checkpoint at the start.
  const isHeldBack = checkpoint.position.run !== undefined && checkpoint.position.cursor === undefined
  return [{ where: 'true', read: isHeldBack || isUnderWay ? 'none' : 'all' }]
}

/** A row has been read when it has not changed since the pass that came past it began. */
function partsByVersion({ pipeline, key }: ArrivalFacts, position: Position, isUnderWay: boolean): Part[] {
  const isFull = pipeline.mode === 'full'
  const done = (isFull ? position.read?.source : position.xmin) ?? null
  const { pass } = position
  if (pass === undefined || pass.name !== (isFull ? 'full' : 'initial'))
    // Nothing is known of what was read, so nothing is said to be on its way, unless somebody is about to read it.
    return [{ where: 'true', read: done ?? (isUnderWay ? 'none' : 'all') }]
  const since = (isFull ? pass.begun?.source : position.xminNext) ?? null
  const rest: Part = { where: 'true', read: done ?? 'none' }
  return since === null || pass.after === null
    ? [rest]
    : [{ where: beyond({ columns: key }, '<=', pass.after), read: since }, rest]
}

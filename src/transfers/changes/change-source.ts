import type { Position } from '../../checkpoints/checkpoint.js'
import type { HeldBack } from '../../model/run.js'
import { type Image, MOST_LOG_ENTRIES } from '../../scopes/index.js'
import type { PlanFacts } from '../../sources/postgres/describe.js'

/** The rows of a table that have changed. */
export interface TableChanges {
  /** The rows as they are now and, where that is known, as they were. */
  readonly changed: readonly Image[]
  /** Only as they were. */
  readonly old: readonly Image[]
}

/** Where the next run starts, stored with the rows. */
export type NextPosition = Pick<Position, 'xmin' | 'wal'> & {
  /** Null: no row was seen yet. */
  readonly modified?: string | null
}

/** What has changed in the source since the last run, all of one snapshot. */
export interface FoundChanges {
  /** Why every row has to be computed; null: what is listed is complete. */
  readonly full: string | null
  /** By the name under which the changes of a table are captured (`relationKey`). Tables without changes are left out. */
  readonly tables: ReadonlyMap<string, TableChanges>
  readonly next: NextPosition
}

/** How a pipeline finds out what has changed. */
export interface ChangeSource {
  /** Nothing is known about earlier changes: every row has to be read, and `first` says where the next run starts. */
  readonly isFirst: boolean
  first(): Promise<NextPosition>
  /** Called before the snapshot is taken. */
  prepare(): Promise<void>
  /** Called in the snapshot in which the rows are going to be computed. Null: not in this one; try another one. */
  read(): Promise<FoundChanges | null>
  /** Called after the position was committed. */
  applied(next: NextPosition): Promise<void>
  readonly heldBack: HeldBack | null
  /** Until there are changes, or the time is over; null: it is not notified of changes. */
  readonly waitForChanges: ((timeoutMs: number) => Promise<boolean>) | null
}

/** So few are followed in any case. */
const FEW_ENTRIES = 2_000
/** An estimate of what one changed row costs, in the planner's units: to read it, to name its scope and to compute that. */
const COST_OF_ENTRY = 4

/** Above this the full query is cheaper than a list of changed rows, which is not read to its end then. */
export function mostEntries({ cost }: Pick<PlanFacts, 'cost'>): number {
  return Math.round(Math.min(Math.max(cost / COST_OF_ENTRY, FEW_ENTRIES), MOST_LOG_ENTRIES))
}

import { createHash } from 'node:crypto'
import { VitrinaError } from '../../model/errors.js'
import { finalTarget, type Pipeline } from '../../model/pipeline.js'
import type { RowCounts } from '../../model/run.js'
import type { Session, TextRow } from '../../postgres/session.js'
import type { Cursor } from '../../sql/selection.js'

/** Where a pipeline stands, beside the rows it speaks of. */
export interface Checkpoint {
  readonly key: string | null
  readonly id: string | null
  readonly position: Position
}

/** A moment in the life of a database: what was committed later has a transaction number from here on. */
export interface Moment {
  readonly from: string
  readonly system: string
}

/** What had been committed at a moment: every number below `from` except those that were open. */
export interface Committed extends Moment {
  readonly open: readonly string[]
}

/** When a pass began, on either side. */
export interface Begun {
  readonly source: Moment
  readonly mart: Committed
}

/** The parts of a checkpoint that people do not have to read. */
export interface Position {
  /** What the current run has done so far; totals, so that repeating them changes nothing. */
  readonly run?: {
    readonly id: string
    readonly batches: number
    readonly rows: RowCounts
    /** Steps that it has done to their end: whoever continues it does not begin them again. */
    readonly done: readonly string[]
  }
  /** An unfinished pass: which one, over what, and up to where. */
  readonly pass?: {
    readonly name: string
    readonly fingerprint: string
    readonly after: Cursor | null
    /** What was written beside the mart so far, when it is to be replaced. */
    readonly written?: RowCounts
    readonly begun?: Begun
  }
  /** When the last pass that looked at every row began. A comparison tells by it what is still on its way. */
  readonly read?: Begun & {
    readonly fingerprint: string
    /** The number that the rows of its last batch have, and whether it was the only one. */
    readonly wrote?: { readonly number: string; readonly isOnly: boolean }
  }
  /** When the mart was last rid of rows that the source does not have. */
  readonly swept?: { readonly mart: Committed; readonly fingerprint: string }
  /**
   * The checkpoint with all its values, of which last_processed_key and last_processed_id are the first two, and the
   * columns that it speaks of; none after a full pass, which is no place to go on from.
   */
  readonly cursor?: { readonly columns: readonly string[]; readonly values: Cursor }
  /** Which mart the rest speaks of: one that was deleted and created again is another. */
  readonly mart?: string
  /** What a sink has to be told before readers see the rows of these batches. */
  readonly unpublished?: readonly string[]
  /** Keys from a sequence are safe once the transactions that were open when they were seen have ended. */
  readonly seen?: { readonly key: string; readonly seenAt: string }
  /** Where the next sweep over row versions begins. */
  readonly xmin?: Moment
  /** The same, while the first sweep is still under way. */
  readonly xminNext?: Moment
}

/** What a position speaks of: it means nothing for another query, target, key, database or chain of transforms. */
export function passFingerprint(pipeline: Pipeline, query: string, key: readonly string[]): string {
  const { sourceConnection, targetConnection, tasks } = pipeline
  const transforms = tasks.slice(1).map((task) => task.body)
  return createHash('sha256')
    .update(
      JSON.stringify([query, finalTarget(pipeline), key, sourceConnection, targetConnection, transforms]),
    )
    .digest('hex')
    .slice(0, 16)
}

/**
 * The whole cursor, unless somebody has set the checkpoint to another value by hand. Null also when it speaks of other
 * columns: the pipeline had another key, or another mode, and every row has to be read anew.
 */
export function cursorFrom(
  { key, id, position: { cursor } }: Pick<Checkpoint, 'key' | 'id'> & { position: Omit<Position, 'run'> },
  columns: readonly string[],
): Cursor | null {
  const isOurs =
    cursor !== undefined && (cursor.values[0] ?? null) === key && (cursor.values[1] ?? null) === id
  if (isOurs) return cursor.columns.join() === columns.join() ? cursor.values : null
  return key === null ? null : id === null ? [key] : [key, id]
}

/** Where a pipeline stands, for whoever only looks. */
export async function readCheckpoint(session: Session, pipelineId: string): Promise<Checkpoint> {
  const [table] = await session.rows("SELECT to_regclass('etl.etl_state')::text AS found")
  const [row] =
    table!.found === null
      ? []
      : await session.rows(`SELECT ${CHECKPOINT} FROM etl.etl_state WHERE pipeline_id = $1`, [pipelineId])
  return toCheckpoint(row ?? {})
}

const CHECKPOINT = 'last_processed_key, last_processed_id, position::text'

function toCheckpoint(row: TextRow): Checkpoint {
  return {
    key: row.last_processed_key ?? null,
    id: row.last_processed_id ?? null,
    position: JSON.parse(row.position ?? '{}') as Position,
  }
}

/**
 * The authoritative checkpoint: a row of etl.etl_state in the target database, moved in the transaction of its batch
 * (invariant 1). The fence is written here when a run begins, so that the target itself refuses an older holder
 * (invariant 4), even when its own clock says that its lease still holds.
 */
export class CheckpointStore {
  readonly #session: Session
  readonly #pipelineId: string
  readonly #fence: number
  #version = 0

  constructor(session: Session, pipelineId: string, fence: number) {
    this.#session = session
    this.#pipelineId = pipelineId
    this.#fence = fence
  }

  /** In a database that is not the main one the table may not be there yet. */
  async create(): Promise<void> {
    // Asked first: IF NOT EXISTS wants the right to create even when nothing is to be created.
    const [row] = await this.#session.rows("SELECT to_regclass('etl.etl_state')::text AS found")
    if (row!.found !== null) return
    // Two runs that begin at the same moment would both find it missing, and the slower one would fail. The lock in a
    // transaction of its own: a session learns of what others created meanwhile only when it begins the next one.
    await this.#session.run("SELECT pg_advisory_lock(hashtext('vitrina.etl_state'))")
    try {
      await this.#session.run(`
        CREATE SCHEMA IF NOT EXISTS etl;
        CREATE TABLE IF NOT EXISTS etl.etl_state (
          pipeline_id uuid PRIMARY KEY, last_processed_key text, last_processed_id text, position jsonb,
          ver bigint NOT NULL DEFAULT 0, fence bigint NOT NULL DEFAULT 0, updated_at timestamptz NOT NULL DEFAULT now())`)
    } finally {
      await this.#session.run("SELECT pg_advisory_unlock(hashtext('vitrina.etl_state'))")
    }
  }

  /** Takes the pipeline over: from now on no holder of a smaller fence can commit here. */
  async takeFence(): Promise<Checkpoint> {
    const [row] = await this.#session.rows(
      `INSERT INTO etl.etl_state AS s (pipeline_id, fence) VALUES ($1, $2)
       ON CONFLICT (pipeline_id) DO UPDATE SET fence = excluded.fence WHERE s.fence <= excluded.fence
       RETURNING ver::text, ${CHECKPOINT}`,
      [this.#pipelineId, this.#fence],
    )
    if (row === undefined) throw stale()
    this.#version = Number(row.ver)
    return toCheckpoint(row)
  }

  /** Sets it to what somebody chose by hand. Repeating it changes nothing. */
  async reset({ key, id }: Pick<Checkpoint, 'key' | 'id'>): Promise<Checkpoint> {
    const checkpoint = { key, id, position: {} }
    await this.move(checkpoint)
    this.committed()
    return checkpoint
  }

  /** Inside the transaction of the batch. Anything but one moved row means that somebody else moved it. */
  async move(checkpoint: Checkpoint): Promise<void> {
    const moved = await this.#session.count(
      `UPDATE etl.etl_state SET ver = ver + 1, last_processed_key = $4, last_processed_id = $5, position = $6, updated_at = clock_timestamp()
        WHERE pipeline_id = $1 AND ver = $2 AND fence = $3`,
      [
        this.#pipelineId,
        this.#version,
        this.#fence,
        checkpoint.key,
        checkpoint.id,
        JSON.stringify(checkpoint.position),
      ],
    )
    if (moved !== 1) throw stale()
  }

  /** To be called when the transaction of a moved checkpoint was committed. */
  committed(): void {
    this.#version += 1
  }
}

function stale(): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    'The checkpoint was moved by another holder of this pipeline.',
    'Nothing has to be done: whoever holds it now goes on from the last checkpoint.',
  )
}

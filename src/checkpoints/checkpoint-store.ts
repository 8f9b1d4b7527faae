import { VitrinaError } from '../model/errors.js'
import { kept } from '../postgres/kept-statements.js'
import type { Session, TextRow } from '../postgres/session.js'
import type { Checkpoint, Position } from './checkpoint.js'

const CHECKPOINT = 'last_processed_key, last_processed_id, position::text'

/** The checkpoint of a pipeline, without taking the pipeline over. */
export async function readCheckpoint(session: Session, pipelineId: string): Promise<Checkpoint> {
  const [row] = (await hasTable(session))
    ? await session.rows(`SELECT ${CHECKPOINT} FROM etl.etl_state WHERE pipeline_id = $1`, [pipelineId])
    : []
  return toCheckpoint(row ?? {})
}

/**
 * The authoritative checkpoint: a row of etl.etl_state in the database of the mart, or in the main database if the mart
 * is not a PostgreSQL table. It moves in the transaction of its batch (invariant 1). A run writes its fence here when it
 * starts, so the database itself rejects an older holder (invariant 4), whatever the clock of that holder says.
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

  /** Creates the table in a database other than the main one. */
  async create(): Promise<void> {
    // Checked first: IF NOT EXISTS requires the CREATE privilege even if the table exists.
    if (await hasTable(this.#session)) return
    // Two runs that start at once both find the table missing, and the slower one would fail. The lock is taken in a
    // separate transaction: a session sees what others created only in its next transaction.
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

  /** Takes the pipeline over: from now on, a holder with a smaller fence cannot commit here. */
  async takeFence(): Promise<Checkpoint> {
    const [row] = await this.#session.rows(TAKE_FENCE, [this.#pipelineId, this.#fence])
    if (row === undefined) throw staleHolder()
    this.#version = Number(row.ver)
    return toCheckpoint(row)
  }

  /** Sets the checkpoint to values that a user has chosen. Idempotent. */
  async reset({ key, id }: Pick<Checkpoint, 'key' | 'id'>): Promise<Checkpoint> {
    const checkpoint = { key, id, position: {} }
    await this.move(checkpoint)
    this.committed()
    return checkpoint
  }

  /** Called in the transaction of the batch. If not exactly one row moves, another holder has moved it. */
  async move(checkpoint: Checkpoint): Promise<void> {
    const moved = await this.#session.count(MOVE, [
      this.#pipelineId,
      this.#version,
      this.#fence,
      checkpoint.key,
      checkpoint.id,
      JSON.stringify(checkpoint.position),
    ])
    if (moved !== 1) throw staleHolder()
  }

  /** Call this after the transaction that moved the checkpoint was committed. */
  committed(): void {
    this.#version += 1
  }
}

const TAKE_FENCE = kept(
  `INSERT INTO etl.etl_state AS s (pipeline_id, fence) VALUES ($1, $2)
   ON CONFLICT (pipeline_id) DO UPDATE SET fence = excluded.fence WHERE s.fence <= excluded.fence
   RETURNING ver::text, ${CHECKPOINT}`,
)
const MOVE = kept(
  `UPDATE etl.etl_state SET ver = ver + 1, last_processed_key = $4, last_processed_id = $5, position = $6, updated_at = clock_timestamp()
    WHERE pipeline_id = $1 AND ver = $2 AND fence = $3`,
)

async function hasTable(session: Session): Promise<boolean> {
  const [row] = await session.rows("SELECT to_regclass('etl.etl_state')::text AS found")
  return row?.found != null
}

function toCheckpoint(row: TextRow): Checkpoint {
  return {
    key: row.last_processed_key ?? null,
    id: row.last_processed_id ?? null,
    position: JSON.parse(row.position ?? '{}') as Position,
  }
}

function staleHolder(): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    'Another holder of this pipeline has moved the checkpoint.',
    'No action needed: the current holder continues from the last checkpoint.',
  )
}

import { type NamedStatement, valuesFor } from '../model/engine.js'
import { VitrinaError } from '../model/errors.js'
import { NO_ROWS, type RowCounts, sumRows } from '../model/run.js'
import type { Session } from '../postgres/session.js'

/** What the committed parts of a run did together. */
export interface CommittedParts {
  readonly count: number
  readonly rows: RowCounts
  /** What a sink has to know about their rows when it publishes them, in the order of the parts. */
  readonly marks: readonly string[]
}

/** A part that is about to be committed. */
export interface LedgerPart {
  readonly part: number
  readonly attempt: number
}

export interface PartLedgerOptions {
  readonly pipelineId: string
  readonly runId: string
  readonly fence: number
  /** The session is connected to the main database, whose own etl.etl_run_parts is the ledger. */
  readonly isMain: boolean
}

/** What a part does in the database of its mart, besides its rows. `claim` is the number of the claim. */
export const LEDGER_STATEMENTS = {
  /** Not in the main database: an earlier claim of the part cannot commit any more. */
  take: {
    text: `INSERT INTO etl.etl_run_parts AS p (run_id, part, pipeline_id, attempts, status) VALUES ($1, $2, $3, $4, 'RUNNING')
       ON CONFLICT (run_id, part) DO UPDATE SET attempts = excluded.attempts
        WHERE p.attempts <= excluded.attempts AND p.status <> 'DONE'`,
    values: ['run', 'part', 'pipeline', 'claim'],
  },
  taken: {
    text: 'SELECT status, counts::text FROM etl.etl_run_parts WHERE run_id = $1 AND part = $2',
    values: ['run', 'part'],
  },
  /** The lock makes a successor that takes the fence wait for this commit, or this part see the new fence. */
  hold: {
    text: 'SELECT 1 AS held FROM etl.etl_state WHERE pipeline_id = $1 AND fence = $2 FOR SHARE',
    values: ['pipeline', 'fence'],
  },
  /** Not in the main database. */
  complete: {
    text: `UPDATE etl.etl_run_parts SET status = 'DONE', counts = $4
        WHERE run_id = $1 AND part = $2 AND attempts = $3 AND status = 'RUNNING'`,
    values: ['run', 'part', 'claim', 'counts'],
  },
  /** A process that froze in this part may still hold locks. Its lease has expired: it cannot commit any more. */
  end_earlier: {
    text: `SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity
        WHERE starts_with(application_name, $1) AND application_name <> $1 || $2 AND usename = current_user
          AND nullif(split_part(application_name, '.', 2), '')::integer < $2::integer`,
    values: ['session_prefix', 'claim'],
  },
} as const satisfies Record<string, NamedStatement>

/**
 * The authoritative list of committed parts: etl.etl_run_parts in the database of the mart. A line is written in the
 * transaction of the rows, so a part is committed at most once.
 */
export class PartLedger {
  readonly #session: Session
  readonly #options: PartLedgerOptions

  constructor(session: Session, options: PartLedgerOptions) {
    this.#session = session
    this.#options = options
  }

  /** Forgets the parts of earlier runs, apart from those of `from`, which this run continues. */
  async prepare(from: string | null): Promise<void> {
    const { isMain, pipelineId, runId } = this.#options
    if (isMain) return
    await this.#create()
    await this.#session.count(
      `INSERT INTO etl.etl_run_parts (run_id, part, pipeline_id, attempts, status)
       SELECT $1, part, pipeline_id, 0, status FROM etl.etl_run_parts WHERE run_id = $2 AND status = 'DONE' AND run_id <> $1
       ON CONFLICT DO NOTHING`,
      [runId, from],
    )
    const kept = from === null ? [] : [runId]
    await this.#session.count(
      'DELETE FROM etl.etl_run_parts WHERE pipeline_id = $1 AND run_id <> ALL ($2::uuid[])',
      [pipelineId, kept],
    )
  }

  async #create(): Promise<void> {
    const [row] = await this.#session.rows("SELECT to_regclass('etl.etl_run_parts')::text AS found")
    if (row?.found != null) return
    // Two runs that start at once both find the table missing, and the slower one would fail.
    await this.#session.run("SELECT pg_advisory_lock(hashtext('vitrina.etl_state'))")
    try {
      await this.#session.run(`
        CREATE TABLE IF NOT EXISTS etl.etl_run_parts (
          run_id uuid, part integer, pipeline_id uuid NOT NULL, attempts integer NOT NULL, status text NOT NULL,
          counts jsonb, PRIMARY KEY (run_id, part))`)
    } finally {
      await this.#session.run("SELECT pg_advisory_unlock(hashtext('vitrina.etl_state'))")
    }
  }

  /** An earlier claim of the part cannot commit any more. Returns what it did if it has committed; null: it has not. */
  async take({ part, attempt }: LedgerPart): Promise<RowCounts | null> {
    const { isMain, runId, pipelineId } = this.#options
    if (isMain) return null
    const named = { run: runId, part, pipeline: pipelineId, claim: attempt }
    const { take, taken } = LEDGER_STATEMENTS
    await this.#session.count(take.text, valuesFor(take, named))
    const [row] = await this.#session.rows(taken.text, valuesFor(taken, named))
    return row?.status === 'DONE' ? readCounts(row.counts) : null
  }

  /** Called in the transaction of the rows, last. */
  async complete({ part, attempt }: LedgerPart, rows: RowCounts): Promise<void> {
    const { isMain, runId, pipelineId, fence } = this.#options
    const counts = JSON.stringify(rows)
    const named = { run: runId, part, pipeline: pipelineId, fence, claim: attempt, counts }
    const { hold, complete } = LEDGER_STATEMENTS
    const held = await this.#session.rows(hold.text, valuesFor(hold, named))
    if (held.length !== 1) throw partLost(part)
    if (isMain) return
    const done = await this.#session.count(complete.text, valuesFor(complete, named))
    if (done !== 1) throw partLost(part)
  }

  async committed(): Promise<CommittedParts> {
    const { isMain, runId } = this.#options
    // Only sinks return marks, and their ledger is in the main database.
    const marks = isMain ? 'array_to_json(marks)::text' : 'NULL'
    const found = await this.#session.rows(
      `SELECT counts::text, ${marks} AS marks FROM etl.etl_run_parts WHERE run_id = $1 AND status = 'DONE' ORDER BY part`,
      [runId],
    )
    return {
      count: found.length,
      rows: found.map(({ counts }) => readCounts(counts)).reduce(sumRows, NO_ROWS),
      marks: found.flatMap((row) => (row.marks == null ? [] : (JSON.parse(row.marks) as string[]))),
    }
  }

  /** Called in the batch that ends the step, whose checkpoint has them from then on. */
  async forgetMarks(): Promise<void> {
    await this.#session.count(
      'UPDATE etl.etl_run_parts SET marks = NULL WHERE run_id = $1 AND marks IS NOT NULL',
      [this.#options.runId],
    )
  }
}

/** Null: an earlier run has committed it. */
function readCounts(text: string | null | undefined): RowCounts {
  return text == null ? NO_ROWS : (JSON.parse(text) as RowCounts)
}

function partLost(part: number): VitrinaError {
  return new VitrinaError(
    'LEASE_LOST',
    `Part ${part} is no longer held by this runner.`,
    'No action needed: the current holder of the run continues with the parts that are not committed.',
  )
}

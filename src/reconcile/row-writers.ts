import type { Committed } from '../checkpoints/checkpoint.js'
import type { Session } from '../postgres/session.js'
import { xid } from '../sources/postgres/changes.js'
import { quoteLiteral } from '../sql/identifiers.js'

/** Who wrote a version of a row of the mart. `accepted`: the pipeline compared it with the source and found it equal. */
export type RowWriter = 'pipeline' | 'accepted' | 'other session' | 'unknown'

/** What the checkpoint records about the pipeline's own writes. */
export interface WriteRecord {
  /** Versions committed by then were found equal to the source. */
  readonly acceptedUntil: Committed | null
  /** The transaction number of the last batch of the last pass, and whether it was the only batch. */
  readonly wrote: { readonly number: string; readonly isOnly: boolean } | null
  /** The pipeline may be writing now. */
  readonly isWriting: boolean
}

/** Finds out who wrote each version of a row. */
export interface RowWriters {
  of(versions: ReadonlySet<string>, record: WriteRecord): Promise<ReadonlyMap<string, RowWriter>>
}

/** For a mart that does not record who wrote a row. */
export const NO_ROW_WRITERS: RowWriters = { of: async () => new Map() }

/**
 * Separates rows as the pipeline left them from rows that another session touched. A batch writes its rows and its line in
 * the history behind the same savepoint, so both carry the same transaction number; a row with any other number was
 * written by another session. A mart outside the main database has no history; there the checkpoint has to do.
 */
export class VersionWriters implements RowWriters {
  readonly #session: Session
  readonly #pipelineId: string
  readonly #hasHistory: boolean

  private constructor(session: Session, pipelineId: string, hasHistory: boolean) {
    this.#session = session
    this.#pipelineId = pipelineId
    this.#hasHistory = hasHistory
  }

  static async find(session: Session, pipelineId: string): Promise<VersionWriters> {
    const [row] = await session.rows(
      "SELECT coalesce(has_table_privilege(to_regclass('etl.etl_run_batches'), 'SELECT'), false)::text AS found",
    )
    return new VersionWriters(session, pipelineId, row!.found === 'true')
  }

  /** Call it after reading the rows: every batch that wrote one of them is recorded by then. */
  async of(versions: ReadonlySet<string>, record: WriteRecord): Promise<ReadonlyMap<string, RowWriter>> {
    if (versions.size === 0) return new Map()
    const rows = await this.#session.rows(
      `SELECT v.xid::text, CASE WHEN ${isAccepted(record)} THEN 'accepted' ${this.#hasHistory ? this.#byHistory() : byRecord(record)} END AS who
         FROM (SELECT t.text::xid AS xid FROM unnest($1::text[]) AS t(text)) AS v`,
      [[...versions]],
    )
    return new Map(rows.map((row) => [row.xid!, row.who as RowWriter]))
  }

  #byHistory(): string {
    return `WHEN EXISTS (SELECT FROM etl.etl_runs r JOIN etl.etl_run_batches b ON b.run_id = r.id
                   WHERE r.pipeline_id = ${quoteLiteral(this.#pipelineId)} AND b.xmin = v.xid) THEN 'pipeline' ELSE 'other session'`
  }
}

function isAccepted({ acceptedUntil }: WriteRecord): string {
  if (acceptedUntil === null) return 'false'
  const { from, open } = acceptedUntil
  const wasOpen = open.length === 0 ? 'false' : `v.xid IN (${open.map(xid).join(', ')})`
  return `age(v.xid) > age(${xid(from)}) AND NOT ${wasOpen}`
}

/** Of a pass with several batches only the last number is recorded: earlier numbers may be its own, later ones are not. */
function byRecord({ wrote, isWriting }: WriteRecord): string {
  if (wrote === null) return "ELSE 'unknown'"
  const number = xid(wrote.number)
  const earlier = wrote.isOnly ? '' : `WHEN age(v.xid) > age(${number}) THEN 'unknown'`
  return `WHEN v.xid = ${number} THEN 'pipeline' ${earlier} ELSE '${isWriting ? 'unknown' : 'other session'}'`
}

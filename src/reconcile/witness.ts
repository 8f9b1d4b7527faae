import type { Committed } from '../checkpoints/checkpoint.js'
import type { Session } from '../postgres/session.js'
import { xid } from '../sources/postgres/changes.js'
import { quoteLiteral } from '../sql/identifiers.js'

/** Who wrote a version of a row of the mart. `well`: whoever it was, the pipeline has found nothing wrong with it. */
export type Testimony = 'pipeline' | 'well' | 'somebody else' | 'unknown'

/** What the pipeline itself remembers of its writing. */
export interface Memory {
  /** Versions that had been committed by then were found right. */
  readonly wellUntil: Committed | null
  /** The number of the last batch of the last pass, and whether the pass had others. */
  readonly wrote: { readonly number: string; readonly isOnly: boolean } | null
  /** It may be writing now. */
  readonly isWriting: boolean
}

/** Says of each version who wrote it. */
export interface Hearing {
  hear(versions: ReadonlySet<string>, memory: Memory): Promise<ReadonlyMap<string, Testimony>>
}

/** For a mart that does not know. */
export const MUTE: Hearing = { hear: async () => new Map() }

/**
 * Tells whether a row of the mart is as the pipeline left it. A batch writes its rows and its line in the history behind
 * the same savepoint, so both carry the same number; a row with any other number was touched by somebody else. In another
 * database than the main one there is no history, and what the pipeline remembers has to do.
 */
export class Witness implements Hearing {
  readonly #session: Session
  readonly #pipelineId: string
  readonly #hasHistory: boolean

  private constructor(session: Session, pipelineId: string, hasHistory: boolean) {
    this.#session = session
    this.#pipelineId = pipelineId
    this.#hasHistory = hasHistory
  }

  static async find(session: Session, pipelineId: string): Promise<Witness> {
    const [row] = await session.rows(
      "SELECT coalesce(has_table_privilege(to_regclass('etl.etl_run_batches'), 'SELECT'), false)::text AS found",
    )
    return new Witness(session, pipelineId, row!.found === 'true')
  }

  /** To be asked after the rows were looked at: every batch that wrote one of them is known by then. */
  async hear(versions: ReadonlySet<string>, memory: Memory): Promise<ReadonlyMap<string, Testimony>> {
    if (versions.size === 0) return new Map()
    const rows = await this.#session.rows(
      `SELECT v.xid::text, CASE WHEN ${isWell(memory)} THEN 'well' ${this.#hasHistory ? this.#history() : recollection(memory)} END AS who
         FROM (SELECT t.text::xid AS xid FROM unnest($1::text[]) AS t(text)) AS v`,
      [[...versions]],
    )
    return new Map(rows.map((row) => [row.xid!, row.who as Testimony]))
  }

  #history(): string {
    return `WHEN EXISTS (SELECT FROM etl.etl_runs r JOIN etl.etl_run_batches b ON b.run_id = r.id
                   WHERE r.pipeline_id = ${quoteLiteral(this.#pipelineId)} AND b.xmin = v.xid) THEN 'pipeline' ELSE 'somebody else'`
  }
}

function isWell({ wellUntil }: Memory): string {
  if (wellUntil === null) return 'false'
  const { from, open } = wellUntil
  const wasOpen = open.length === 0 ? 'false' : `v.xid IN (${open.map(xid).join(', ')})`
  return `age(v.xid) > age(${xid(from)}) AND NOT ${wasOpen}`
}

/** A pass that had several batches remembers the number of the last: earlier ones may be its own, later ones are not. */
function recollection({ wrote, isWriting }: Memory): string {
  if (wrote === null) return "ELSE 'unknown'"
  const number = xid(wrote.number)
  const earlier = wrote.isOnly ? '' : `WHEN age(v.xid) > age(${number}) THEN 'unknown'`
  return `WHEN v.xid = ${number} THEN 'pipeline' ${earlier} ELSE '${isWriting ? 'unknown' : 'somebody else'}'`
}

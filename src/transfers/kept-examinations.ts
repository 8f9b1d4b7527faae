import type { Claim } from '../model/claim.js'
import { type CatalogMark, isUnchanged, markRelations } from '../postgres/catalog-mark.js'
import type { Connection, Session } from '../postgres/session.js'
import { quoteTable, type TableName } from '../sql/identifiers.js'
import type { Examined } from './examine.js'
import type { CreatedMart } from './marts/mart.js'

/** The planner's estimates are part of an examination, and they change with the tables. */
const MOST_AGE_MS = 600_000

/** What is found out about a pipeline before its rows are read. */
export interface KeptExamination<M> {
  readonly examined: Examined
  readonly mart: CreatedMart<M>
}

interface Kept extends KeptExamination<unknown> {
  readonly pipeline: string
  readonly source: Connection
  readonly marks: { readonly source: CatalogMark; readonly mart: CatalogMark | null }
  readonly at: number
}

interface Sessions {
  readonly source: Session
  readonly session: Session
}

/**
 * Examinations of pipelines that follow changes, each valid for the same connections while the catalogs are unchanged: a
 * run that has nothing to do would spend half of its time on finding out the same again.
 */
export class KeptExaminations {
  /** For each connection to the database of the mart, by pipeline. */
  readonly #kept = new WeakMap<Connection, Map<string, Kept>>()

  /**
   * Valid if its query is the text that the guard accepts. The pipeline decides what the mart is written through. One
   * round trip: both marks are compared at once.
   */
  async find<M>(claim: Claim, { source, session }: Sessions): Promise<KeptExamination<M> | null> {
    const kept = this.#kept.get(session.connection)?.get(claim.pipeline.id)
    if (kept === undefined || kept.source !== source.connection) return null
    if (kept.pipeline !== textOf(claim) || performance.now() - kept.at > MOST_AGE_MS) return null
    const { source: ofSource, mart } = kept.marks
    const unchanged = await Promise.all([
      isUnchanged(source, ofSource),
      mart === null || isUnchanged(session, mart),
    ])
    return unchanged.every(Boolean) ? (kept as Kept & KeptExamination<M>) : null
  }

  /** `mark` is that of the mart before it was examined. Nothing is kept that may have changed meanwhile. */
  async keep(
    claim: Claim,
    { source, session }: Sessions,
    { mark, ...examination }: KeptExamination<unknown> & { readonly mark: CatalogMark },
  ): Promise<void> {
    const traced = examination.examined.trace?.mark ?? null
    if (traced === null) return
    const isOne = source === session
    const marks = isOne
      ? { source: await markRelations(session, [...traced.relations, ...mark.relations]), mart: null }
      : { source: traced, mart: mark }
    const unchanged = (await isUnchanged(source, traced)) && (await isUnchanged(session, mark))
    if (!unchanged) return
    const all = this.#kept.get(session.connection) ?? new Map<string, Kept>()
    const at = performance.now()
    all.set(claim.pipeline.id, {
      ...examination,
      marks,
      at,
      pipeline: textOf(claim),
      source: source.connection,
    })
    this.#kept.set(session.connection, all)
  }
}

/** Null: the table does not exist yet, or depends on more than itself because it has partitions. */
export async function markTable(session: Session, name: TableName): Promise<CatalogMark | null> {
  const [row] = await session.rows<{ oid: string }>(
    "SELECT oid::text FROM pg_class WHERE oid = to_regclass($1) AND relkind = 'r'",
    [quoteTable(name)],
  )
  return row === undefined ? null : markRelations(session, [row.oid])
}

/** Everything that a user can change about the pipeline. */
function textOf({ pipeline }: Claim): string {
  return JSON.stringify(pipeline)
}

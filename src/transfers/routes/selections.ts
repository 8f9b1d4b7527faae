import { failpoint } from '../../model/failpoints.js'
import { databaseError } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import type { Traced } from '../../scopes/index.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import type { TextValues } from '../../sql/copy-text.js'
import { quoteIdentifier, quoteList, quoteLiteral } from '../../sql/identifiers.js'
import { asRelation, type Column, columnList } from '../../sql/selection.js'
import { type Attempt, sourceQueryOf, writingOf } from '../attempt.js'
import { auditSelection, compareAudited, randomScopes } from '../changes/scope-audit.js'
import { type Apply, deletedRows, type MartWriter } from '../marts/mart.js'
import { type Absent, deleteAbsent, FEW_ROWS, SELECTIONS, stageScopes } from '../marts/table.js'
import { type RowSource, TableWriter } from '../marts/table-writer.js'
import type { Progression } from '../progression.js'
import { DifferingPages } from '../readers/differing-pages.js'
import { PagedReader } from '../readers/paged.js'
import type { Reader, SourceQuery } from '../readers/reader.js'
import { MAX_ROWS_AT_ONCE, StagedReader, WholeReader } from '../readers/staged.js'
import { Relay } from './relay.js'
import type { AffectedRows, CollectedAudit, Mover, Rebuild, Recomputed, Route, Stream } from './route.js'

const COLLECTED = 'pg_temp.vitrina_pass'
const COLLECTED_KEYS = 'pg_temp.vitrina_keys'

/** Pushdown and relay: rows are selections, and JavaScript never sees a value. */
export class SelectionRoute implements Route<string> {
  readonly rebuildsAtOnce = true
  readonly publish = null
  readonly #attempt: Attempt<TargetTable>
  readonly #mover: Mover
  #hasCollected = false

  private constructor(attempt: Attempt<TargetTable>, mover: Mover) {
    this.#attempt = attempt
    this.#mover = mover
  }

  static async open(attempt: Attempt<TargetTable>, way: 'pushdown' | 'relay'): Promise<SelectionRoute> {
    const { source, session: target, mart: table, examined, batches } = attempt
    const { columns } = examined
    const inTransaction = {
      isSourceInTransaction: batches.inGroup,
      isTargetInTransaction: batches.inGroup,
    }
    const mover =
      way === 'pushdown'
        ? pushdown(target)
        : await Relay.open({ source, target, table, columns, ...inTransaction })
    return new SelectionRoute(attempt, mover)
  }

  pass(name: string, progression: Progression): Stream<string> {
    const { session: target, examined, claim } = this.#attempt
    const query = sourceQueryOf(this.#attempt)
    const { paged, facts } = examined
    if (paged) {
      const writer = this.#writer(this.#mover, progression.after === null)
      return { reader: this.#pages(name, query, progression), writer, progression }
    }
    // A batch size that a user has set is respected.
    const isSmall = claim.pipeline.batchSize === null && facts.rows <= MAX_ROWS_AT_ONCE
    if (name === 'full' && progression.after === null && isSmall)
      return { reader: new WholeReader(query), writer: this.#writer(this.#mover, true), progression }
    const reader = new StagedReader(query, progression, { target, mover: this.#mover })
    return { reader, writer: this.#writer(SELECTIONS, progression.after === null), progression }
  }

  /** In one database the merge compares rows as fast. */
  #pages(name: string, query: SourceQuery, progression: Progression): Reader<string> {
    const { source, session, mart: table, checks, claim, isEmpty } = this.#attempt
    const pages = new PagedReader(query, progression, { isAuto: claim.pipeline.batchSize === null })
    // Checks read every row of the source, also those that the mart already has.
    const isChecked = checks.rows.length > 0
    const isComparable = name === 'full' && source !== session && !isEmpty && table.sameTypes && !isChecked
    return isComparable ? new DifferingPages(pages, { query, session, table }) : pages
  }

  findsScopes(): boolean {
    return true
  }

  readonly auditor = { collect: (trace: Traced) => this.#collectAudit(trace) }

  async #collectAudit(trace: Traced): Promise<CollectedAudit | null> {
    const { session, mart: target, examined } = this.#attempt
    const scopes = await randomScopes(session, target, trace.scope)
    const count = scopes.values[0]!.length
    if (count === 0) return null
    await session.run('DROP TABLE IF EXISTS pg_temp.vitrina_audit')
    await this.#mover.collect(
      auditSelection(trace, examined.columns, scopes),
      'vitrina_audit',
      examined.columns,
    )
    const ignored = trace.planDependent.map(({ name }) => name)
    const compared = { target, scopes, computed: 'pg_temp.vitrina_audit', ignored }
    return { scopes: count, compare: () => compareAudited(session, compared) }
  }

  async changes({ selection, scopes }: AffectedRows): Promise<Recomputed<string>> {
    const { session, claim } = this.#attempt
    const rows = await this.#collect(selection)
    if (rows > FEW_ROWS) await session.run(`ANALYZE ${COLLECTED}`)
    const among = scopes === null ? null : await stageScopes(session, scopes)
    const { deleteBrake: brake } = claim.pipeline
    const absent = { kept: COLLECTED, among, brake }
    return { stream: null, finish: this.#applyCollected(this.#collectedWriter(), absent) }
  }

  /**
   * Only the difference is applied, in one transaction: readers see the old mart or the new one, at every isolation
   * level, and views, grants and indexes stay. (TRUNCATE and INSERT shows older snapshots no rows; renaming loses views
   * and grants.)
   */
  rebuild(): () => Promise<Rebuild<string>> {
    const writer = this.#collectedWriter()
    return () => this.#rebuild(writer)
  }

  async #rebuild(writer: MartWriter<string>): Promise<Rebuild<string>> {
    const { session, examined, mart, claim } = this.#attempt
    const { query, columns } = examined
    await this.#collect(
      `SELECT ${columnList(columns)} FROM ${asRelation(query)} ORDER BY ${quoteList(mart.key)}`,
    )
    await session.run(`ANALYZE ${COLLECTED}`)
    failpoint('pass.collected')
    const { deleteBrake: brake } = claim.pipeline
    const apply = this.#applyCollected(writer, { kept: COLLECTED, among: null, brake })
    const publish: Apply = async (id) => {
      const change = await apply(id)
      failpoint('replace.merged')
      return change
    }
    return { stream: null, isResumable: false, publish }
  }

  async sweep(): Promise<Apply> {
    const { session, examined, mart, claim, batches } = this.#attempt
    const keys = examined.columns.filter((column) => mart.key.includes(column.name))
    await session.run(`DROP TABLE IF EXISTS ${COLLECTED_KEYS}`)
    const selection = `SELECT ${columnList(keys)} FROM ${asRelation(examined.query)}`
    await batches
      .reading(() => this.#mover.collect(selection, 'vitrina_keys', keys))
      .catch((error) => {
        throw databaseError(error, 'Reading the keys of the source', 'source')
      })
    await session.run(`ANALYZE ${COLLECTED_KEYS}`)
    return async () => {
      const { deleteBrake: brake } = claim.pipeline
      const deleted = await deleteAbsent(session, mart, { kept: COLLECTED_KEYS, among: null, brake })
      failpoint('sweep.deleted')
      return deletedRows(deleted)
    }
  }

  repair(removeAbsent: boolean): (keys: readonly TextValues[]) => Promise<Apply> {
    const writer = this.#collectedWriter()
    return async (keys) => {
      const { query, columns, key } = this.#attempt.examined
      const conditions = keys.map((texts) => `(${equalTo(key, texts)})`)
      await this.#collect(
        `SELECT ${columnList(columns)} FROM ${asRelation(query)} WHERE ${conditions.join(' OR ')}`,
      )
      const absent = { kept: COLLECTED, among: { relation: asKeyRelation(key, keys) }, brake: 1 }
      return this.#applyCollected(writer, removeAbsent ? absent : null)
    }
  }

  async #collect(selection: string): Promise<number> {
    const { session, examined, batches } = this.#attempt
    if (this.#hasCollected) await session.run(`DROP TABLE IF EXISTS ${COLLECTED}`)
    this.#hasCollected = true
    return batches
      .reading(() => this.#mover.collect(selection, 'vitrina_pass', examined.columns))
      .catch((error) => {
        throw databaseError(error, 'Reading the source', 'source')
      })
  }

  /** Deletes before it writes: a new row may have the unique value of a deleted one. */
  #applyCollected(writer: MartWriter<string>, absent: Absent | null): Apply {
    const { session, mart, examined } = this.#attempt
    return async (id) => {
      const deleted = absent === null ? 0 : await deleteAbsent(session, mart, absent)
      const change = await writer.write(`SELECT ${columnList(examined.columns)} FROM ${COLLECTED}`, id)
      return { ...change, rows: { ...change.rows, deleted } }
    }
  }

  #collectedWriter(): TableWriter<string> {
    return this.#writer(SELECTIONS, true)
  }

  #writer(rows: RowSource<string>, fromStart: boolean): TableWriter<string> {
    const { session, mart: table, isEmpty } = this.#attempt
    const writing = writingOf(this.#attempt, isEmpty && fromStart)
    return new TableWriter({ session, table, rows, ...writing })
  }
}

/** Source and target are in one database: the rows never leave the server. */
function pushdown(session: Session): Mover {
  return {
    ...SELECTIONS,
    collect: (selection, into) => session.count(`CREATE TEMP TABLE ${into} AS ${selection}`),
  }
}

function equalTo(key: readonly Column[], texts: TextValues): string {
  return key
    .map(({ name, type }, index) => {
      const text = texts[index] ?? null
      return text === null
        ? `${quoteIdentifier(name)} IS NULL`
        : `${quoteIdentifier(name)} = ${quoteLiteral(text)}::${type}`
    })
    .join(' AND ')
}

function asKeyRelation(key: readonly Column[], keys: readonly TextValues[]): string {
  const rows = keys.map((texts) => `(${typedKey(key, texts).join(', ')})`)
  return `(SELECT * FROM (VALUES ${rows.join(', ')}) AS repaired (${columnList(key)}))`
}

/** The values of a key as literals with their types. */
export function typedKey(key: readonly Column[], texts: TextValues): string[] {
  return key.map(({ type }, index) => {
    const text = texts[index] ?? null
    return `${text === null ? 'NULL' : quoteLiteral(text)}::${type}`
  })
}

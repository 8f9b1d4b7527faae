import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Guarantee, type Pipeline, readerQuery } from '../model/pipeline.js'
import type { Session } from '../postgres/session.js'
import { requireColumn } from '../sinks/postgres/target.js'
import { describeQuery, type PlanFacts, planFacts } from '../sources/postgres/describe.js'
import { Horizon, isCachedSequence, isClockKey, isCountingKey } from '../sources/postgres/horizon.js'
import { parseTable, quoteIdentifier } from '../sql/identifiers.js'
import { asRelation, type Column, columnList, type Order, orderBy } from '../sql/selection.js'
import { sqlstateOf } from '../sql/sqlstate.js'

/** What can be told about a pipeline's source without changing anything. */
export interface Examined {
  readonly query: string
  readonly columns: readonly Column[]
  /** The columns that identify a row of the mart. */
  readonly key: readonly Column[]
  readonly order: Order
  readonly facts: PlanFacts
  /** The source is walked along an index; else it is read once for each pass. */
  readonly paged: boolean
  readonly guarantee: Guarantee
}

/**
 * Looks at the query and its keys, and refuses what cannot work before anything is read or written. `martKey` looks at
 * the mart for these columns and tells what identifies a row there.
 */
export async function examine(
  source: Session,
  pipeline: Pipeline,
  sourceSchemas: readonly string[],
  martKey: (columns: readonly Column[]) => Promise<readonly string[]>,
): Promise<Examined> {
  const query = readerQuery(pipeline)
  const columns = await describeQuery(source, query)
  const key = keyOf(pipeline, columns, await martKey(columns))
  const order = orderOf(pipeline, columns, key)
  const byKey = pipeline.mode === 'incremental' && pipeline.capture === 'key'
  if (byKey) await requireOrderable(source, order)
  const facts = await planFacts(
    source,
    `SELECT ${columnList(columns)} FROM ${asRelation(query)} ORDER BY ${orderBy(order)} LIMIT 10000`,
  )
  requireAllowed(facts, sourceSchemas)
  if (byKey) await requireUsableKey(source, order, facts, query)
  const paged = facts.walksIndex && order.columns.every((column) => column.notNull)
  return {
    query,
    columns,
    key,
    order,
    facts,
    paged,
    guarantee: await guaranteeOf(source, pipeline, order, facts),
  }
}

function keyOf(pipeline: Pipeline, columns: readonly Column[], names: readonly string[]): Column[] {
  if (names.length === 0) {
    throw new VitrinaError(
      'TARGET_KEY_MISSING',
      `${finalTarget(pipeline)} does not exist, and the pipeline names no key_columns to create it with.`,
      'Set key_columns to the columns that identify a row of the mart.',
    )
  }
  return names.map((name) => requireColumn(columns, name, 'key_columns'))
}

/**
 * Incremental rows come in the order of their key; everything else in the order of the mart's key. The mart's key stands
 * last in any case: without it a batch could end between two rows that compare equal, and a run that goes on from there
 * would miss the second.
 */
function orderOf(pipeline: Pipeline, columns: readonly Column[], key: readonly Column[]): Order {
  if (pipeline.mode === 'full' || pipeline.capture === 'xmin') return { columns: key }
  if (pipeline.incrementalKey === null) {
    throw new VitrinaError(
      'PIPELINE_INVALID',
      'An incremental pipeline with capture "key" needs incremental_key.',
      'Set incremental_key to the column that grows with every change, or choose capture "xmin".',
    )
  }
  const first = requireColumn(columns, pipeline.incrementalKey, 'incremental_key')
  const second =
    pipeline.incrementalIdKey === null
      ? []
      : [requireColumn(columns, pipeline.incrementalIdKey, 'incremental_id_key')]
  return { columns: [...new Set([first, ...second, ...key])] }
}

/**
 * A pass goes on where the last one stopped, so the database must be able to tell what comes after a key. json and
 * point have no order; under a nondeterministic collation two different texts may stand at the same place.
 */
async function requireOrderable(source: Session, { columns }: Order): Promise<void> {
  for (const column of columns) {
    const ordered = await source
      .rows(`SELECT NULL::${column.type} AS key ORDER BY 1`)
      .then(() => true)
      .catch((error: unknown) => {
        if (sqlstateOf(error) !== '42883') throw error
        return false
      })
    if (!ordered || (await isLooselyCollated(source, column))) throw unordered(column, ordered)
  }
}

async function isLooselyCollated(source: Session, { base }: Column): Promise<boolean> {
  if (base === null) return false
  const rows = await source.rows(
    `SELECT 1 AS found FROM pg_attribute a JOIN pg_collation c ON c.oid = a.attcollation
      WHERE a.attrelid = $1::oid AND a.attnum = $2 AND NOT c.collisdeterministic`,
    [base.tableId, base.attribute],
  )
  return rows.length > 0
}

function unordered({ name, type }: Column, ordered: boolean): VitrinaError {
  const why = ordered ? 'its collation takes different texts for equal' : `${type} has no order`
  return new VitrinaError(
    'KEY_UNORDERED',
    `Rows cannot be read in the order of "${name}": ${why}.`,
    'Choose another key, or write the column with COLLATE "C" or as another type in the query.',
  )
}

/** The planner names every table that the query reaches, also through views. With pushdown the writer reads it. */
function requireAllowed(facts: PlanFacts, sourceSchemas: readonly string[]): void {
  const refused = facts.relations.filter((relation) => !sourceSchemas.includes(parseTable(relation).schema))
  if (refused.length > 0) {
    throw new VitrinaError(
      'SOURCE_REFUSED',
      `The query reads ${refused.join(', ')}; only the schemas ${sourceSchemas.join(', ')} may be read.`,
      'Read from an allowed schema, or have an administrator extend ALLOWED_SOURCE_SCHEMAS.',
    )
  }
}

/** A row whose key is NULL lies beyond no checkpoint: it would be missed for ever, so the run does not begin. */
async function requireUsableKey(
  source: Session,
  order: Order,
  facts: PlanFacts,
  query: string,
): Promise<void> {
  await new Horizon({
    session: source,
    key: order.columns[0]!,
    relations: facts.relations,
    self: '',
  }).requireSight()
  const doubtful = order.columns.filter((column) => !column.notNull || facts.outerJoin || facts.aggregates)
  if (doubtful.length === 0) return
  const nulls = doubtful.map((column) => `${quoteIdentifier(column.name)} IS NULL`)
  const found = await source.rows(
    `SELECT 1 AS found FROM ${asRelation(query)} WHERE ${nulls.join(' OR ')} LIMIT 1`,
  )
  if (found.length > 0) {
    throw new VitrinaError(
      'KEY_NULL',
      `The query returns rows where ${doubtful.map((column) => column.name).join(' or ')} is NULL: no checkpoint could ever cover them.`,
      'Give them a value in the query (COALESCE), leave them out (WHERE … IS NOT NULL), or choose capture "xmin".',
    )
  }
}

async function guaranteeOf(
  source: Session,
  pipeline: Pipeline,
  order: Order,
  facts: PlanFacts,
): Promise<Guarantee> {
  const spreads = isSpread(facts)
  if (pipeline.mode === 'full' || (spreads && pipeline.deletes === 'sweep')) return 'lossless'
  if (spreads) return 'bounded'
  if (pipeline.capture === 'xmin') return 'lossless'
  const key = order.columns[0]!
  const ordered = isClockKey(key) || (isCountingKey(key) && !(await isCachedSequence(source, key)))
  return ordered ? 'lossless if the database sets the key' : 'bounded'
}

/**
 * A row of the mart is made of several rows of the source. One that goes away, or moves to another group, leaves no
 * trace by which the row it was part of could be found: only computing everything again finds it.
 */
export function isSpread(facts: PlanFacts): boolean {
  return facts.aggregates || facts.relations.length > 1
}

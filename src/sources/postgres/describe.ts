import { VitrinaError } from '../../model/errors.js'
import { databaseError } from '../../postgres/errors.js'
import type { Field, Session } from '../../postgres/session.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { asRelation, type Column } from '../../sql/selection.js'

/** The columns that a checked query returns, as reported by the server. Nothing is executed. */
export async function describeQuery(session: Session, query: string): Promise<Column[]> {
  const fields = await session.fields(`SELECT * FROM ${asRelation(query)} LIMIT 0`).catch((error) => {
    throw databaseError(error, 'The source query', 'source')
  })
  const types = await typesOf(session, await withDomains(session, query, fields))
  return fields.map((field, index) => ({
    name: field.name,
    type: types[index]!.type,
    typeOid: field.typeOid,
    base: field.tableId === 0 ? null : { tableId: String(field.tableId), attribute: field.columnId },
    notNull: types[index]!.notNull,
  }))
}

/** Called after the rows were read: if the source changed before that, the values do not match the columns. */
export async function requireSameTypes(
  session: Session,
  query: string,
  columns: readonly Column[],
): Promise<void> {
  const fields = await session.fields(`SELECT * FROM ${asRelation(query)} LIMIT 0`)
  const changed = columns.filter(
    ({ name, typeOid }) => fields.find((field) => field.name === name)?.typeOid !== typeOid,
  )
  if (changed.length === 0) return
  throw new VitrinaError(
    'SOURCE_CHANGED',
    `The source was changed while the run was reading: ${changed.map((column) => column.name).join(', ')}.`,
    'Check the query and the mart, then run the pipeline again: it resumes from the last checkpoint.',
  )
}

/** The protocol reports the base type of a domain; pg_typeof returns the domain. Nothing is executed here either. */
async function withDomains(session: Session, query: string, fields: readonly Field[]): Promise<Field[]> {
  const types = fields.map(
    (field, index) => `pg_catalog.pg_typeof(source.${quoteIdentifier(field.name)})::oid AS t${index}`,
  )
  const [row] = await session.rows(
    `SELECT ${types.join(', ')} FROM (SELECT) AS one LEFT JOIN ${asRelation(query)} ON false`,
  )
  return fields.map((field, index) => {
    const typeOid = Number(row![`t${index}`])
    return typeOid === field.typeOid ? field : { ...field, typeOid, typeModifier: -1 }
  })
}

async function typesOf(
  session: Session,
  fields: readonly Field[],
): Promise<{ type: string; notNull: boolean }[]> {
  // The search_path of a session is empty, so format_type includes the schema of every type that is not built in.
  const rows = await session.rows(
    `SELECT pg_catalog.format_type(f.type, f.modifier) AS type, coalesce(a.attnotnull, false)::text AS not_null
       FROM unnest($1::oid[], $2::int4[], $3::oid[], $4::int2[]) WITH ORDINALITY AS f(type, modifier, relation, attribute, position)
       LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = f.relation AND a.attnum = f.attribute
      ORDER BY f.position`,
    [
      fields.map((f) => f.typeOid),
      fields.map((f) => f.typeModifier),
      fields.map((f) => f.tableId),
      fields.map((f) => f.columnId),
    ],
  )
  return rows.map((row) => ({ type: row.type!, notNull: row.not_null === 'true' }))
}

/** What the planner would do with a statement: enough to distinguish an index scan from a full computation. */
export interface PlanFacts {
  /** The planner's estimate of the number of rows. */
  readonly rows: number
  /** The planner's cost of all of them. */
  readonly cost: number
  /** Every node follows an index: each batch reads only its own rows. */
  readonly walksIndex: boolean
  /** A row may have NULLs in place of a table's columns. */
  readonly outerJoin: boolean
  readonly aggregates: boolean
  /** More than one table is read, or one of them more than once. */
  readonly joins: boolean
  /** Only some of the rows are returned, depending on the others. */
  readonly limits: boolean
  /** Whether a row is returned depends on the current time. */
  readonly watchesClock: boolean
  /** The tables it reads, as regclass text. */
  readonly relations: readonly string[]
}

interface PlanNode {
  'Node Type': string
  'Join Type'?: string
  'Plan Rows'?: number
  'Total Cost'?: number
  Schema?: string
  'Relation Name'?: string
  Plans?: PlanNode[]
}

const CLOCK = /\b(now|\w+_timestamp|timeofday)\(\)|\b(CURRENT_DATE|CURRENT_TIME|CURRENT_TIMESTAMP|LOCALTIME)/

const WALK = new Set([
  'Limit',
  'Index Scan',
  'Index Only Scan',
  'Subquery Scan',
  'Result',
  'Merge Append',
  'Append',
  'LockRows',
  'Incremental Sort',
])

/** Plans for the first rows of a statement, so that the planner prefers an index in the right order. */
export async function planFacts(session: Session, statement: string): Promise<PlanFacts> {
  const [row] = await session
    .rows(`EXPLAIN (FORMAT JSON, VERBOSE) ${statement} LIMIT 10000`)
    .catch((error) => {
      throw databaseError(error, 'The source query', 'source')
    })
  // Without that LIMIT.
  const [, ...nodes] = flatten((JSON.parse(row!['QUERY PLAN']!) as { Plan: PlanNode }[])[0]!.Plan)
  return {
    rows: nodes[0]?.['Plan Rows'] ?? 0,
    cost: nodes[0]?.['Total Cost'] ?? 0,
    walksIndex: nodes.every((node) => WALK.has(node['Node Type'])),
    outerJoin: nodes.some((node) => ['Left', 'Right', 'Full'].includes(node['Join Type'] ?? '')),
    aggregates: nodes.some((node) => /Aggregate|Group|Unique|WindowAgg|SetOp/.test(node['Node Type'])),
    joins: nodes.filter((node) => node['Relation Name'] !== undefined).length > 1,
    limits: nodes.some((node) => node['Node Type'] === 'Limit'),
    watchesClock: nodes.some((node) => conditionsOf(node).some((condition) => CLOCK.test(condition))),
    relations: [
      ...new Set(
        nodes.flatMap((node) =>
          node['Relation Name'] === undefined
            ? []
            : [`${quoted(node.Schema!)}.${quoted(node['Relation Name'])}`],
        ),
      ),
    ],
  }
}

/**
 * A row of the mart is made of several rows of the source. A source row that is deleted, or moves to another group,
 * leaves no trace that leads to the mart row it belonged to: only a full computation finds it.
 */
export function isSpread({ aggregates, joins, limits }: PlanFacts): boolean {
  return aggregates || joins || limits
}

function conditionsOf(node: PlanNode): string[] {
  return Object.entries(node).flatMap(([name, value]) =>
    /(Cond|Filter)$/.test(name) && typeof value === 'string' ? [value] : [],
  )
}

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)]
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

import type { Pipeline } from '../model/pipeline.js'
import type { QueryPlan, WholeScan } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { asRelation, type Column } from '../sql/selection.js'
import type { Examined } from '../transfers/examine.js'

/** Below this an index saves nobody a second. */
const BIG_TABLE = 10_000

interface PlanNode {
  'Node Type': string
  'Plan Rows': number
  'Total Cost': number
  Schema?: string
  'Relation Name'?: string
  Filter?: string
  Plans?: PlanNode[]
}

/** What the planner says of reading the query once. Nothing of it is executed. */
export async function queryPlan(source: Session, pipeline: Pipeline, examined: Examined): Promise<QueryPlan> {
  const [row] = await source.rows(
    `EXPLAIN (FORMAT JSON, VERBOSE) SELECT * FROM ${asRelation(examined.query)}`,
  )
  const { Plan: root } = (JSON.parse(row!['QUERY PLAN']!) as [{ Plan: PlanNode }])[0]
  return {
    rows: root['Plan Rows'],
    totalCost: root['Total Cost'],
    scans: await wholeScans(source, root),
    indexes: await missingIndexes(source, pipeline, examined.order.columns),
  }
}

async function wholeScans(source: Session, root: PlanNode): Promise<WholeScan[]> {
  const nodes = flatten(root).filter((node) => node['Node Type'] === 'Seq Scan')
  const names = nodes.map(
    (node) => `${quoteIdentifier(node.Schema!)}.${quoteIdentifier(node['Relation Name']!)}`,
  )
  const sizes = await source.rows(
    `SELECT c.reltuples::bigint::text AS rows
       FROM unnest($1::text[]) WITH ORDINALITY AS t(name, place) JOIN pg_class c ON c.oid = t.name::regclass
      ORDER BY t.place`,
    [names],
  )
  return nodes.map((node, n) => {
    const rows = Number(sizes[n]?.rows ?? -1)
    return {
      table: `${node.Schema}.${node['Relation Name']}`,
      rows: rows < 0 ? null : rows,
      filter: node.Filter ?? null,
      isBig: rows >= BIG_TABLE,
    }
  })
}

/**
 * An incremental run asks for the rows beyond its checkpoint: without an index that begins with the key, the database
 * reads the whole table to find them. A key that is computed has no table to put an index on.
 */
async function missingIndexes(
  source: Session,
  { mode, capture }: Pipeline,
  [key, ...rest]: readonly Column[],
): Promise<QueryPlan['indexes']> {
  if (mode !== 'incremental' || capture !== 'key' || key === undefined || key.base === null) return []
  const { tableId } = key.base
  const same = rest.filter(({ base }) => base?.tableId === tableId)
  const [found] = await source.rows(NOT_INDEXED, [
    tableId,
    key.base.attribute,
    same.map(({ base }) => base!.attribute),
    BIG_TABLE,
  ])
  if (found === undefined) return []
  return [{ table: found.name!, statement: `CREATE INDEX CONCURRENTLY ON ${found.name} (${found.columns})` }]
}

const NOT_INDEXED = `
SELECT c.oid::regclass::text AS name,
       (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position($2::int2 || $3::int2[], a.attnum))
          FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY ($2::int2 || $3::int2[])) AS columns
  FROM pg_class c
 WHERE c.oid = $1::oid AND c.relkind IN ('r', 'p', 'm') AND c.reltuples >= $4::int
   AND NOT EXISTS (SELECT FROM pg_index i
                    WHERE i.indrelid = c.oid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = $2::int2)`

function flatten(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)]
}

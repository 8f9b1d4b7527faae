import type { Pipeline } from '../model/pipeline.js'
import type { QueryPlan, WholeScan } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { parseTable, quoteIdentifier } from '../sql/identifiers.js'
import { asRelation, type Column } from '../sql/selection.js'
import type { Examined } from '../transfers/examine.js'
import { BIG_TABLE, flattenPlan, type PlanNode } from './plan-node.js'

/**
 * The planner's estimate for reading the query once. No row is read, but constant expressions are evaluated.
 * VERBOSE repeats each of those values in every node above, and is only requested when two schemas have a table of the
 * same name: otherwise the examination already knows the schema.
 */
export async function queryPlan(source: Session, pipeline: Pipeline, examined: Examined): Promise<QueryPlan> {
  const schemas = schemaByTable(examined.facts.relations)
  const options = schemas === null ? 'FORMAT JSON, VERBOSE' : 'FORMAT JSON'
  const [row] = await source.rows(`EXPLAIN (${options}) SELECT * FROM ${asRelation(examined.query)}`)
  const { Plan: root } = (JSON.parse(row!['QUERY PLAN']!) as [{ Plan: PlanNode }])[0]
  return {
    rows: root['Plan Rows'],
    totalCost: root['Total Cost'],
    scans: await wholeScans(source, root, schemas ?? new Map()),
    indexes: await missingIndexes(source, pipeline, examined.order.columns),
  }
}

/** Null: the name alone does not identify the table. */
function schemaByTable(relations: readonly string[]): ReadonlyMap<string, string> | null {
  const names = relations.map(parseTable)
  const schemas = new Map(names.map(({ schema, table }) => [table, schema]))
  return schemas.size === names.length ? schemas : null
}

async function wholeScans(
  source: Session,
  root: PlanNode,
  schemas: ReadonlyMap<string, string>,
): Promise<WholeScan[]> {
  const nodes = flattenPlan(root).flatMap((node) => {
    const table = node['Relation Name'] ?? ''
    const schema = node.Schema ?? schemas.get(table)
    // This plan may scan a table that the examination's plan did not contain.
    return node['Node Type'] === 'Seq Scan' && schema !== undefined ? [{ ...node, schema, table }] : []
  })
  const names = nodes.map(({ schema, table }) => `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`)
  const sizes = await source.rows(
    `SELECT c.reltuples::bigint::text AS rows
       FROM unnest($1::text[]) WITH ORDINALITY AS t(name, place) JOIN pg_class c ON c.oid = t.name::regclass
      ORDER BY t.place`,
    [names],
  )
  return nodes.map((node, n) => {
    const rows = Number(sizes[n]?.rows ?? -1)
    return {
      table: `${node.schema}.${node.table}`,
      rows: rows < 0 ? null : rows,
      filter: node.Filter ?? null,
      isBig: rows >= BIG_TABLE,
    }
  })
}

/**
 * An incremental run reads the rows beyond its checkpoint: without an index that begins with the key, the database
 * reads the whole table to find them. A computed key has no table for an index.
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

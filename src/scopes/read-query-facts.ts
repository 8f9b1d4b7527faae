import { parseSql, type Tree } from '../guard/index.js'
import type { GuardSession } from '../ports/query-guard.js'
import { type CatalogMark, markRelations } from '../postgres/catalog-mark.js'
import { databaseError } from '../postgres/errors.js'
import type { TextRow } from '../postgres/session.js'
import type { TableName } from '../sql/identifiers.js'
import { hasOneText } from './one-text.js'
import {
  type BaseTable,
  nameOf,
  type QueryFacts,
  relationKey,
  type TableColumn,
  type View,
} from './query-facts.js'
import { obstaclesIn, type UsedFunction } from './repeatable.js'

const SCOPES_VIEW = 'vitrina_scopes'
const THIS = `'pg_temp.${SCOPES_VIEW}'::pg_catalog.regclass`

/** As the guard reads a query: names mean one thing only, and nothing of it commits. */
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL search_path = ''; SET LOCAL standard_conforming_strings = on; SET LOCAL quote_all_identifiers = off;
SET LOCAL jit = off`

/**
 * Reads what the server knows about a query that passed the guard. Uses a separate transaction, which is rolled back:
 * the session must not have one open, and must be allowed to create a temporary view.
 */
export function readQueryFacts(session: GuardSession, sql: string): Promise<QueryFacts> {
  return withView(session, sql, () => factsOfView(session))
}

export interface MarkedFacts {
  readonly facts: QueryFacts
  /** Of the catalogs that the facts come from; null: they depend on more than relations. */
  readonly mark: CatalogMark | null
}

/** The mark is read in the same transaction: the locks of the view keep the tables unchanged until then. */
export function readMarkedFacts(session: GuardSession, sql: string): Promise<MarkedFacts> {
  return withView(session, sql, async () => {
    const facts = await factsOfView(session)
    return { facts, mark: facts.usesOnlyBuiltIns ? await markRelations(session, facts.relationIds) : null }
  })
}

async function withView<T>(session: GuardSession, sql: string, read: () => Promise<T>): Promise<T> {
  try {
    await session.run(BEGIN)
    await session.rows(`CREATE TEMPORARY VIEW ${SCOPES_VIEW} AS\n${sql}`)
    return await read()
  } catch (error) {
    throw databaseError(error, 'Reading which tables and functions the source query uses', 'source')
  } finally {
    // A lost connection has nothing to roll back.
    await session.run('ROLLBACK').catch(() => {})
  }
}

async function factsOfView(session: GuardSession): Promise<QueryFacts> {
  const columns = await session.rows(COLUMNS)
  const relations = await session.rows<RelationRow>(RELATIONS)
  const tables = relations.filter(({ definition }) => definition === null)
  const views = relations.filter(({ definition }) => definition !== null)
  const tableColumns = await session.rows<ColumnRow>(TABLE_COLUMNS, [tables.map(({ oid }) => oid)])
  const [used] = await session.rows(USED, [views.map(({ oid }) => oid)])
  const functions = JSON.parse(used?.functions ?? '[]') as UsedFunction[]
  const text = withoutSemicolon(columns[0]?.text ?? '')
  const known = await Promise.all(
    relations.map((row) =>
      row.definition === null ? aTable(row, tableColumns) : aView(row, row.definition),
    ),
  )
  return {
    text,
    statement: await statementOf(text),
    columns: columns.map(({ name, type, is_loose }) => ({
      name: name!,
      type: type!,
      isLoose: is_loose === 'true',
    })),
    relations: new Map(known.map((relation) => [relationKey(relation.name), relation])),
    ...calledAggregates(functions),
    setFunctions: setFunctionsOf(functions),
    relationIds: relations.map(({ oid }) => oid),
    usesOnlyBuiltIns: functions.every(({ schema }) => schema === 'pg_catalog'),
    obstacles: obstaclesIn({ functions, systemColumns: used?.system_columns === 'true' }),
  }
}

function withoutSemicolon(text: string): string {
  return text.trim().replace(/;$/, '')
}

async function statementOf(text: string): Promise<Tree> {
  const parsed = await parseSql(text)
  const [statement] = parsed.kind === 'tree' ? parsed.statements : []
  return ((statement?.stmt as Tree | undefined)?.SelectStmt ?? {}) as Tree
}

function calledAggregates(functions: readonly UsedFunction[]) {
  const aggregates = functions.filter(({ kind }) => kind === 'a')
  return {
    aggregates: new Set(aggregates.map(({ name }) => name)),
    floatAggregates: new Set(aggregates.filter(({ takesFloat }) => takesFloat).map(({ name }) => name)),
  }
}

function setFunctionsOf(functions: readonly UsedFunction[]): Map<string, string | null> {
  const found = new Map<string, string | null>()
  for (const { name, result } of functions.filter(({ returnsRows }) => returnsRows))
    found.set(name, found.has(name) && found.get(name) !== result ? null : result)
  return found
}

interface RelationRow extends TextRow {
  oid: string
  schema: string
  name: string
  kind: string
  persistence: string
  definition: string | null
  columns: string
  readable: string
  row_security: string
  has_children: string
  root_schema: string
  root_name: string
  foreign_partition: string | null
  unlogged_partition: string | null
  identity: string
  identity_columns: string
  primary_key: string
}

interface ColumnRow extends TextRow {
  relation: string
  name: string
  type: string
  collation: string | null
  not_null: string
  nondeterministic: string
  generated: string
}

async function aView(row: RelationRow, definition: string): Promise<View> {
  return {
    kind: 'view',
    name: { schema: row.schema, table: row.name },
    columns: JSON.parse(row.columns) as string[],
    statement: await statementOf(withoutSemicolon(definition)),
  }
}

function aTable(row: RelationRow, all: readonly ColumnRow[]): BaseTable {
  const name = { schema: row.schema, table: row.name }
  const columns = all.filter(({ relation }) => relation === row.oid).map(aColumn)
  return {
    kind: 'table',
    name,
    capturedAs: { schema: row.root_schema, table: row.root_name },
    columns: new Map(columns.map((column) => [column.name, column])),
    primaryKey: JSON.parse(row.primary_key) as string[],
    identity: {
      kind: IDENTITIES[row.identity] ?? 'nothing',
      columns:
        row.identity === 'f'
          ? columns.map((column) => column.name)
          : (JSON.parse(row.identity_columns) as string[]),
    },
    isReadable: row.readable === 'true',
    hasChildren: row.has_children === 'true',
    obstacle: obstacleOf(row, name),
  }
}

const IDENTITIES: Readonly<Record<string, BaseTable['identity']['kind']>> = {
  d: 'primary key',
  i: 'index',
  f: 'full',
  n: 'nothing',
}

function aColumn(row: ColumnRow): TableColumn {
  return {
    name: row.name,
    type: row.type,
    collation: row.collation,
    isNotNull: row.not_null === 'true',
    isLoose: row.nondeterministic === 'true' || !hasOneText(row.type),
    isGenerated: row.generated === 'true',
  }
}

const KINDS: Readonly<Record<string, string>> = {
  m: 'a materialized view',
  f: 'a foreign table',
  S: 'a sequence',
}

function obstacleOf(row: RelationRow, name: TableName): string | null {
  if (row.kind !== 'r' && row.kind !== 'p')
    return `${nameOf(name)} is ${KINDS[row.kind] ?? 'not a table'}, whose changes cannot be captured.`
  if (row.schema === 'pg_catalog' || row.schema === 'information_schema')
    return `${nameOf(name)} belongs to the catalog, whose changes cannot be captured.`
  if (row.persistence !== 'p')
    return `${nameOf(name)} is ${row.persistence === 'u' ? 'unlogged' : 'temporary'}: its changes are not in the WAL.`
  if (row.foreign_partition !== null)
    return `${nameOf(name)} has a foreign table as a partition (${row.foreign_partition}).`
  if (row.unlogged_partition !== null)
    return `${nameOf(name)} has an unlogged partition (${row.unlogged_partition}).`
  // A policy may read other tables, and may show a view's owner other rows than this login.
  if (row.row_security === 'true') return `${nameOf(name)} has row-level security.`
  return null
}

const COLUMNS = `
SELECT a.attname AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       (NOT coalesce(l.collisdeterministic, true)
        OR (b.typtype = 'b' AND b.typnamespace <> 'pg_catalog'::pg_catalog.regnamespace))::text AS is_loose,
       CASE WHEN a.attnum = 1 THEN pg_catalog.pg_get_viewdef(a.attrelid) END AS text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  JOIN pg_catalog.pg_type b ON b.oid = CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.oid END
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
 WHERE a.attrelid = ${THIS} AND a.attnum > 0
 ORDER BY a.attnum`

/** Through views, not down to partitions: changes of those are captured under the name of the partitioned table. */
const RELATIONS = `
WITH RECURSIVE reached(oid) AS (
  SELECT ${THIS}::pg_catalog.oid
  UNION
  SELECT d.refobjid
    FROM reached r
    JOIN pg_catalog.pg_class v ON v.oid = r.oid AND v.relkind = 'v'
    JOIN pg_catalog.pg_rewrite w ON w.ev_class = r.oid AND w.ev_type = '1'
    JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
   WHERE d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> r.oid
)
SELECT c.oid, n.nspname AS schema, c.relname AS name, c.relkind::text AS kind, c.relpersistence::text AS persistence,
       CASE WHEN c.relkind = 'v' THEN pg_catalog.pg_get_viewdef(c.oid) END AS definition,
       (SELECT coalesce(pg_catalog.json_agg(a.attname ORDER BY a.attnum), '[]') FROM pg_catalog.pg_attribute a
         WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text AS columns,
       pg_catalog.has_table_privilege(c.oid, 'SELECT')::text AS readable,
       c.relrowsecurity::text AS row_security,
       (c.relkind = 'r' AND EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid))::text AS has_children,
       rn.nspname AS root_schema, rc.relname AS root_name,
       tree.foreign_partition, tree.unlogged_partition,
       c.relreplident::text AS identity,
       (SELECT coalesce(pg_catalog.json_agg(a.attname ORDER BY a.attnum), '[]')
          FROM pg_catalog.pg_index x JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (x.indkey)
         WHERE x.indrelid = c.oid
           AND CASE c.relreplident WHEN 'd' THEN x.indisprimary WHEN 'i' THEN x.indisreplident ELSE false END
       )::text AS identity_columns,
       (SELECT coalesce(pg_catalog.json_agg(a.attname ORDER BY a.attnum), '[]')
          FROM pg_catalog.pg_index x JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (x.indkey)
         WHERE x.indrelid = c.oid AND x.indisprimary)::text AS primary_key
  FROM reached r
  JOIN pg_catalog.pg_class c ON c.oid = r.oid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_catalog.pg_class rc ON rc.oid = CASE WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid) ELSE c.oid END
  JOIN pg_catalog.pg_namespace rn ON rn.oid = rc.relnamespace
 CROSS JOIN LATERAL (
   SELECT min(p.relname) FILTER (WHERE p.relkind = 'f') AS foreign_partition,
          min(p.relname) FILTER (WHERE p.relpersistence = 'u') AS unlogged_partition
     FROM pg_catalog.pg_partition_tree(CASE WHEN c.relkind = 'p' THEN c.oid END) t
     JOIN pg_catalog.pg_class p ON p.oid = t.relid) tree
 WHERE c.oid <> ${THIS} AND c.relkind <> 'c'`

const TABLE_COLUMNS = `
SELECT a.attrelid AS relation, a.attname AS name, pg_catalog.format_type(a.atttypid, a.atttypmod) AS type,
       CASE WHEN a.attcollation <> t.typcollation
            THEN pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(l.collname) END AS collation,
       (NOT coalesce(l.collisdeterministic, true))::text AS nondeterministic,
       a.attnotnull::text AS not_null, (a.attgenerated <> '')::text AS generated
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_collation l ON l.oid = a.attcollation
  LEFT JOIN pg_catalog.pg_namespace n ON n.oid = l.collnamespace
 WHERE a.attrelid = ANY ($1::pg_catalog.oid[]) AND a.attnum > 0 AND NOT a.attisdropped
 ORDER BY a.attnum`

/**
 * Which overload of a function is called, the text does not show: date_trunc of a timestamp is IMMUTABLE, of a timestamptz
 * it is not. The stored tree of the view has the numbers. Names and constants in it cannot be mistaken for fields:
 * blanks in names are escaped, constants are lists of bytes.
 */
const USED = `
WITH tree AS (
  SELECT w.ev_action::pg_catalog.text AS text FROM pg_catalog.pg_rewrite w
   WHERE w.ev_type = '1' AND (w.ev_class = ${THIS} OR w.ev_class = ANY ($1::pg_catalog.oid[]))
), called(oid) AS (
  SELECT m[1]::pg_catalog.oid
    FROM tree, pg_catalog.regexp_matches(tree.text, ':(?:funcid|aggfnoid|winfnoid|opfuncid) (\\d+)', 'g') m
   UNION
  SELECT o.oprcode::pg_catalog.oid
    FROM tree, pg_catalog.regexp_matches(tree.text, ':opno (\\d+)', 'g') m
    JOIN pg_catalog.pg_operator o ON o.oid = m[1]::pg_catalog.oid
)
SELECT (SELECT coalesce(pg_catalog.bool_or(text ~ ':varattno -\\d'), false) FROM tree)::text AS system_columns,
       (SELECT pg_catalog.json_agg(pg_catalog.json_build_object('name', p.proname, 'schema', n.nspname,
                 'volatility', p.provolatile, 'kind', p.prokind,
                 'takesFloat', p.proargtypes::pg_catalog.oid[] && '{700,701}'::pg_catalog.oid[],
                 'returnsRows', p.proretset,
                 'result', CASE WHEN t.typtype = 'b' AND p.proallargtypes IS NULL THEN pg_catalog.format_type(t.oid, NULL) END) ORDER BY p.proname)
          FROM called JOIN pg_catalog.pg_proc p ON p.oid = called.oid
          JOIN pg_catalog.pg_type t ON t.oid = p.prorettype
          JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace)::text AS functions`

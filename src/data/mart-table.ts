import { VitrinaError } from '../model/errors.js'
import { isAllowedTable, type TargetRules } from '../model/target.js'
import type { Session } from '../postgres/session.js'
import { requireStoredInTargets } from '../sinks/postgres/stored-elsewhere.js'
import { parseTable, quoteIdentifier, quoteTable, type TableName } from '../sql/identifiers.js'

export interface MartTableColumn {
  readonly name: string
  /** With its modifier, as people write it: `numeric(3,1)`. */
  readonly type: string
  /** Without a modifier: a parameter cast to numeric(3,1) would be rounded, and would then be equal to other values. */
  readonly castType: string
  /** The type below a domain, without a modifier. */
  readonly baseType: string
  readonly notNull: boolean
  /** Values can be compared by <; others are ordered by their text. */
  readonly isOrdered: boolean
  readonly isEnum: boolean
  /** An index begins with it: its lowest and highest value can be read at once. */
  readonly isIndexed: boolean
}

/** A mart in PostgreSQL, as far as the login of the API may read it. */
export interface MartTable {
  readonly name: TableName
  readonly quoted: string
  readonly columns: readonly MartTableColumn[]
  readonly hiddenColumns: readonly string[]
  /** A unique key without NULL; empty: the table has no such key, or it may not be read. */
  readonly key: readonly string[]
}

/** The table of a target. Throws if it does not exist, is not allowed, or may not be read. */
export async function findMartTable(
  session: Session,
  address: string,
  rules: Pick<TargetRules, 'tables'>,
): Promise<MartTable> {
  const name = parseTable(address)
  // A target that was set with SQL has not been checked: the login of the API can read more than marts.
  if (!isAllowedTable(name, rules)) throw refused(address, rules)
  const relation = await relationOf(session, name)
  if (relation === null) throw missing(address)
  if (relation.kind !== 'r' && relation.kind !== 'p') throw notATable(address)
  await requireStoredInTargets(session, relation.oid, rules)
  const columns = await columnsOf(session, relation.oid)
  const readable = relation.isUsable ? columns.filter((column) => column.isReadable) : []
  if (readable.length === 0) throw unreadable(name, relation.login)
  const key = await keyOf(session, relation.oid)
  return {
    name,
    quoted: quoteTable(name),
    columns: readable,
    hiddenColumns: columns.filter(({ isReadable }) => !isReadable).map((column) => column.name),
    key: key.every((part) => readable.some((column) => column.name === part)) ? key : [],
  }
}

interface MartRelation {
  readonly kind: string
  readonly oid: string
  readonly isUsable: boolean
  readonly login: string
}

async function relationOf(session: Session, { schema, table }: TableName): Promise<MartRelation | null> {
  const [row] = await session.rows(
    `SELECT c.relkind::text AS kind, c.oid::text, has_schema_privilege(n.oid, 'USAGE')::text AS usable, current_user::text AS login
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
    [schema, table],
  )
  if (row === undefined) return null
  return { kind: row.kind!, oid: row.oid!, isUsable: row.usable === 'true', login: row.login! }
}

/** Types whose order is that of another type, such as varchar and text, have no operator class of their own. */
const ORDERED = `EXISTS (
  SELECT FROM pg_opclass o JOIN pg_am m ON m.oid = o.opcmethod AND m.amname = 'btree'
   WHERE o.opcdefault AND (o.opcintype = t.oid OR EXISTS (
     SELECT FROM pg_cast k WHERE k.castsource = t.oid AND k.casttarget = o.opcintype AND k.castmethod = 'b' AND k.castcontext = 'i')))`

async function columnsOf(
  session: Session,
  oid: string,
): Promise<(MartTableColumn & { readonly isReadable: boolean })[]> {
  const rows = await session.rows(
    `WITH RECURSIVE base AS (
       SELECT a.attnum, a.atttypid AS type FROM pg_attribute a WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
       UNION ALL SELECT b.attnum, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype = 'd')
     SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, format_type(a.atttypid, -1) AS cast_type,
            format_type(t.oid, -1) AS base_type, a.attnotnull::text AS not_null, (t.typtype = 'e')::text AS is_enum,
            (t.typtype = 'e' OR CASE WHEN t.typelem <> 0 AND t.typlen = -1 THEN (SELECT e.typtype = 'e' OR ${ORDERED.replaceAll('t.oid', 'e.oid')} FROM pg_type e WHERE e.oid = t.typelem)
                  ELSE ${ORDERED} END)::text AS is_ordered,
            has_column_privilege(a.attrelid, a.attnum, 'SELECT')::text AS is_readable,
            EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam AND m.amname = 'btree'
                     WHERE i.indrelid = a.attrelid AND i.indisvalid AND i.indpred IS NULL AND i.indkey[0] = a.attnum)::text AS is_indexed
       FROM pg_attribute a JOIN base b ON b.attnum = a.attnum JOIN pg_type t ON t.oid = b.type AND t.typtype <> 'd'
      WHERE a.attrelid = $1::oid ORDER BY a.attnum`,
    [oid],
  )
  return rows.map((row) => ({
    name: row.name!,
    type: row.type!,
    castType: row.cast_type!,
    baseType: row.base_type!,
    notNull: row.not_null === 'true',
    isOrdered: row.is_ordered === 'true',
    isEnum: row.is_enum === 'true',
    isIndexed: row.is_indexed === 'true',
    isReadable: row.is_readable === 'true',
  }))
}

/** The primary key, or else the smallest unique index over columns that cannot be NULL. */
async function keyOf(session: Session, oid: string): Promise<string[]> {
  const [row] = await session.rows(
    `SELECT json_agg(a.attname ORDER BY k.n)::text AS columns
       FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n)
       JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
      WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
        AND k.n <= i.indnkeyatts
      GROUP BY i.indexrelid, i.indisprimary HAVING bool_and(a.attnotnull)
      ORDER BY i.indisprimary DESC, count(*), i.indexrelid LIMIT 1`,
    [oid],
  )
  return row === undefined ? [] : (JSON.parse(row.columns!) as string[])
}

function refused(address: string, rules: Pick<TargetRules, 'tables'>): VitrinaError {
  return new VitrinaError(
    'TARGET_REFUSED',
    `${address} is not an allowed target (allowed: ${rules.tables.join(', ')}), so its rows are not shown.`,
    'Change the target of the pipeline, or ask an administrator to extend ALLOWED_TARGET_TABLES.',
  )
}

function missing(address: string): VitrinaError {
  return new VitrinaError(
    'MART_MISSING',
    `The mart ${address} does not exist yet.`,
    'Run the pipeline: its first run creates the mart.',
  )
}

function notATable(address: string): VitrinaError {
  return new VitrinaError(
    'TARGET_MISMATCH',
    `${address} is not a table.`,
    'Choose a table, or an unused name: the table is then created.',
  )
}

function unreadable({ schema, table }: TableName, login: string): VitrinaError {
  const [schemaName, role] = [quoteIdentifier(schema), quoteIdentifier(login)]
  return new VitrinaError(
    'MART_UNREADABLE',
    `The login ${login} may not read ${schema}.${table}.`,
    `Run: GRANT USAGE ON SCHEMA ${schemaName} TO ${role}; GRANT SELECT ON ${quoteTable({ schema, table })} TO ${role}`,
  )
}

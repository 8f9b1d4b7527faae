import { createHash } from 'node:crypto'
import type { FollowedTable, IdentityAdvice, IdentityKind } from '../model/source.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier, quoteList, quoteTable, type TableName } from '../sql/identifiers.js'
import { relationName } from './relation-name.js'

interface Leaf {
  readonly root: string
  readonly name: TableName
  readonly identity: IdentityKind
  readonly identityColumns: readonly string[]
  readonly primaryKey: readonly string[]
  readonly notNull: readonly string[]
  readonly generated: readonly string[]
  readonly indexes: readonly LeafIndex[]
}

interface LeafIndex {
  readonly name: string
  readonly columns: readonly string[]
  /** Unique, complete and checked at once, over columns that are never NULL. */
  readonly isUsable: boolean
  readonly isValid: boolean
}

/**
 * Compares the replica identity of each table with the columns that pipelines need. The identity that counts is that of
 * the table in which a row is stored: each partition has its own.
 */
export async function adviseIdentities(
  session: Session,
  tables: readonly FollowedTable[],
): Promise<IdentityAdvice[]> {
  if (tables.length === 0) return []
  const leaves = await readLeaves(session, tables)
  return tables.flatMap((table) => {
    const own = leaves.filter(({ root }) => root === relationName(table))
    return own.length === 0 ? [] : [adviceFor(table, own)]
  })
}

function adviceFor(table: FollowedTable, leaves: readonly Leaf[]): IdentityAdvice {
  const name = relationName(table)
  const wrong = leaves.filter((leaf) => missingOf(leaf, table.columns).length > 0)
  const shown = wrong[0] ?? leaves[0]!
  const base = {
    table: name,
    identity: shown.identity,
    columns: shown.identityColumns,
    needed: table.columns,
  }
  if (wrong.length === 0)
    return { ...base, isLossless: true, statements: [], reason: null, cost: null, until: null }
  const until = `Until then, every UPDATE or DELETE on ${name} makes the next run compute the whole query. Inserted rows are followed.`
  const generated = table.columns.filter((column) => shown.generated.includes(column))
  if (generated.length > 0)
    return {
      ...base,
      isLossless: false,
      statements: [],
      reason: `${generated.join(', ')} is generated, and generated columns are not in the stream of changes.`,
      cost: null,
      until: until.replace('Until then, every', 'Every'),
    }
  const remedies = wrong.map((leaf) => remedyFor(leaf, table.columns))
  const identity = shown.identity === 'nothing' ? 'nothing' : `(${shown.identityColumns.join(', ')})`
  return {
    ...base,
    isLossless: false,
    statements: remedies.flatMap(({ statements }) => statements),
    reason: `A changed row can be followed only with (${table.columns.join(', ')}); the replica identity has ${identity}.`,
    cost: remedies[0]!.cost,
    until,
  }
}

/** Generated columns are never sent, not even with the identity FULL. */
function missingOf({ identityColumns, generated }: Leaf, needed: readonly string[]): string[] {
  return needed.filter((column) => !identityColumns.includes(column) || generated.includes(column))
}

interface Remedy {
  readonly statements: readonly string[]
  readonly cost: string
}

const OF_INDEX =
  'Cost: a unique index that every INSERT and every update of its columns writes, and 2 to 6 % more WAL for an update.'
const OF_EXISTING = 'Cost: 2 to 6 % more WAL for an update; the index exists already.'
const OF_FULL = 'Cost: the whole old row in the WAL, about 38 % more WAL for an update.'

function remedyFor(leaf: Leaf, needed: readonly string[]): Remedy {
  const table = quoteTable(leaf.name)
  const use = (index: string) => `ALTER TABLE ${table} REPLICA IDENTITY USING INDEX ${quoteIdentifier(index)}`
  // What the identity has now may be what another pipeline needs, or another subscriber of the source.
  const wanted = [...new Set([...leaf.identityColumns, ...needed])]
  const existing = narrowest(leaf.indexes, wanted)
  if (existing !== null) return { statements: [use(existing)], cost: OF_EXISTING }
  const columns = [...new Set([...leaf.primaryKey, ...wanted])]
  const isPossible = leaf.primaryKey.length > 0 && columns.every((column) => leaf.notNull.includes(column))
  if (!isPossible)
    return { statements: [`ALTER TABLE ${table} REPLICA IDENTITY FULL`], cost: fullCost(leaf, columns) }
  const index = indexName(leaf.name.table, columns)
  const leftover = leaf.indexes.find(({ name, isValid }) => name === index && !isValid)
  const schema = quoteIdentifier(leaf.name.schema)
  return {
    statements: [
      ...(leftover === undefined ? [] : [`DROP INDEX CONCURRENTLY ${schema}.${quoteIdentifier(index)}`]),
      `CREATE UNIQUE INDEX CONCURRENTLY ${quoteIdentifier(index)} ON ${table} (${quoteList(columns)})`,
      use(index),
    ],
    cost: OF_INDEX,
  }
}

function fullCost({ primaryKey, notNull }: Leaf, columns: readonly string[]): string {
  const nullable = columns.filter((column) => !notNull.includes(column))
  if (primaryKey.length === 0) return `${OF_FULL} An index is not possible: the table has no primary key.`
  return `${OF_FULL} A smaller identity by an index is possible if ${nullable.join(', ')} is NOT NULL.`
}

function narrowest(indexes: readonly LeafIndex[], wanted: readonly string[]): string | null {
  const fitting = indexes.filter(
    ({ isUsable, columns }) => isUsable && wanted.every((column) => columns.includes(column)),
  )
  return fitting.sort((a, b) => a.columns.length - b.columns.length)[0]?.name ?? null
}

/** The same for the same columns, and short enough for an identifier. */
function indexName(table: string, columns: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify(columns)).digest('hex').slice(0, 6)
  const prefix = Buffer.byteLength(table) <= 40 ? `${table}_` : ''
  return `${prefix}identity_${hash}`
}

const KINDS: Readonly<Record<string, IdentityKind>> = {
  d: 'primary key',
  i: 'index',
  f: 'full',
  n: 'nothing',
}

const LEAVES = `
  WITH RECURSIVE wanted AS (
    SELECT c.oid AS root, w.schema, w.name
      FROM unnest($1::text[], $2::text[]) AS w(schema, name)
      JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name),
  tree AS (
    SELECT root, root AS oid FROM wanted
    UNION SELECT t.root, i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid
      JOIN pg_class p ON p.oid = i.inhparent AND p.relkind = 'p')
  SELECT w.schema AS root_schema, w.name AS root_name, n.nspname AS schema, c.relname AS name, c.relreplident::text AS identity,
         (SELECT coalesce(json_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attnotnull), '[]') FROM pg_attribute a
           WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text AS "notNull",
         (SELECT coalesce(json_agg(a.attname ORDER BY a.attnum) FILTER (WHERE a.attgenerated <> ''), '[]') FROM pg_attribute a
           WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text AS generated,
         (SELECT coalesce(json_agg(a.attname ORDER BY a.attnum), '[]') FROM pg_attribute a
           WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)::text AS "allColumns",
         (SELECT coalesce(json_agg(json_build_object('name', x.relname, 'isPrimary', i.indisprimary, 'isIdentity', i.indisreplident, 'isValid', i.indisvalid,
             'isUsable', i.indisvalid AND i.indisunique AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
               AND NOT EXISTS (SELECT FROM unnest(i.indkey) WITH ORDINALITY k(attnum, place) JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
                                WHERE k.place <= i.indnkeyatts AND NOT a.attnotnull),
             'columns', (SELECT coalesce(json_agg(a.attname ORDER BY k.place), '[]') FROM unnest(i.indkey) WITH ORDINALITY k(attnum, place)
                           JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum WHERE k.place <= i.indnkeyatts))
             ORDER BY x.relname), '[]')
            FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid)::text AS indexes
    FROM wanted w JOIN tree t ON t.root = w.root JOIN pg_class c ON c.oid = t.oid AND c.relkind = 'r'
    JOIN pg_namespace n ON n.oid = c.relnamespace ORDER BY 1, 2, 3, 4`

interface IndexRow extends LeafIndex {
  readonly isPrimary: boolean
  readonly isIdentity: boolean
}

async function readLeaves(session: Session, tables: readonly TableName[]): Promise<Leaf[]> {
  const rows = await session.rows(LEAVES, [
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
  ])
  return rows.map((row) => {
    const list = (name: string) => JSON.parse(row[name]!) as string[]
    const indexes = JSON.parse(row.indexes!) as IndexRow[]
    const identity = KINDS[row.identity!] ?? 'nothing'
    const primaryKey = indexes.find(({ isPrimary }) => isPrimary)?.columns ?? []
    const chosen = indexes.find(({ isIdentity }) => isIdentity)?.columns ?? []
    const columnsOf = { 'primary key': primaryKey, index: chosen, full: list('allColumns'), nothing: [] }
    const identityColumns = columnsOf[identity]
    return {
      root: relationName({ schema: row.root_schema!, table: row.root_name! }),
      name: { schema: row.schema!, table: row.name! },
      identity: identityColumns.length === 0 ? 'nothing' : identity,
      identityColumns,
      primaryKey,
      notNull: list('notNull'),
      generated: list('generated'),
      indexes,
    }
  })
}

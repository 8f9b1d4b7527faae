import type { Session } from '../postgres/session.js'
import { quoteIdentifier, quoteTable, type TableName } from '../sql/identifiers.js'
import { relationName } from './relation-name.js'

/** The rows of a publication: one for each table. Their numbers change when a table leaves and comes back. */
export const MEMBERS = `SELECT r.oid::text AS oid FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = $1`

export interface PublicationPlan {
  /** What the owner of the tables has to run, in this order; empty: nothing is missing. */
  readonly statements: readonly string[]
  /** Tables that cannot be published as they are, with the statement that would allow it. */
  readonly refused: readonly RefusedTable[]
}

export interface RefusedTable {
  readonly table: string
  readonly reason: string
  /** Null: no statement helps. */
  readonly remedy: string | null
}

const OPTIONS = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"

/**
 * The statements after which the publication has exactly these tables. Nothing is changed: the owner of the tables has
 * to run them, because REPLICATION alone may not create a publication.
 *
 * A table without a usable identity is refused: once it is published, every UPDATE and DELETE on it fails.
 */
export async function planPublication(
  session: Session,
  publication: string,
  tables: readonly TableName[],
): Promise<PublicationPlan> {
  const { adding, removing, refused } = await planExactly(session, publication, tables)
  return { statements: [...adding, ...removing], refused }
}

export interface AdditionPlan extends PublicationPlan {
  /** The statements without those that remove other tables, which can no longer be published. */
  readonly adding: readonly string[]
}

/** The statements after which the publication has these tables too. */
export async function planAddition(
  session: Session,
  publication: string,
  tables: readonly TableName[],
): Promise<AdditionPlan> {
  const names = new Set(tables.map(relationName))
  const others = (await publishedTables(session, publication)).filter(
    (table) => !names.has(relationName(table)),
  )
  const { adding, removing, refused } = await planExactly(session, publication, [...tables, ...others])
  return {
    statements: [...adding, ...removing],
    adding,
    refused: refused.filter(({ table }) => names.has(table)),
  }
}

interface Statements {
  readonly adding: readonly string[]
  readonly removing: readonly string[]
}

async function planExactly(
  session: Session,
  publication: string,
  tables: readonly TableName[],
): Promise<Statements & Pick<PublicationPlan, 'refused'>> {
  const found = await describeTables(session, tables)
  const refused = tables.flatMap((table) => {
    const problem = refusalOf(table, found.get(relationName(table)))
    return problem === null ? [] : [problem]
  })
  const names = new Set(refused.map(({ table }) => table))
  const wanted = tables.filter((table) => !names.has(relationName(table)))
  return { ...(await statementsFor(session, publication, wanted)), refused }
}

async function statementsFor(
  session: Session,
  publication: string,
  wanted: readonly TableName[],
): Promise<Statements> {
  const name = quoteIdentifier(publication)
  const [existing] = await session.rows(
    `SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate AND pubviaroot AS complete, puballtables AS "all"
       FROM pg_publication WHERE pubname = $1`,
    [publication],
  )
  const list = (tables: readonly TableName[]) => tables.map(quoteTable).join(', ')
  if (existing === undefined) {
    const create = `CREATE PUBLICATION ${name} FOR TABLE ${list(wanted)} WITH (${OPTIONS})`
    return { adding: wanted.length === 0 ? [] : [create], removing: [] }
  }
  const options = existing.complete === 't' ? [] : [`ALTER PUBLICATION ${name} SET (${OPTIONS})`]
  if (existing.all === 't') return { adding: options, removing: [] }
  const present = await publishedTables(session, publication)
  const has = (tables: readonly TableName[], table: TableName) =>
    tables.some((other) => relationName(other) === relationName(table))
  const missing = wanted.filter((table) => !has(present, table))
  const surplus = present.filter((table) => !has(wanted, table))
  const add = missing.length === 0 ? [] : [`ALTER PUBLICATION ${name} ADD TABLE ${list(missing)}`]
  return {
    adding: [...options, ...add],
    removing: surplus.length === 0 ? [] : [`ALTER PUBLICATION ${name} DROP TABLE ${list(surplus)}`],
  }
}

/** Runs the plan's statements as the login of the session. */
export async function applyPublication(session: Session, { statements }: PublicationPlan): Promise<void> {
  for (const statement of statements) await session.run(statement)
}

async function publishedTables(session: Session, publication: string): Promise<TableName[]> {
  const rows = await session.rows(
    `SELECT n.nspname AS schema, c.relname AS "table" FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
       JOIN pg_class c ON c.oid = r.prrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE p.pubname = $1 ORDER BY 1, 2`,
    [publication],
  )
  return rows.map(({ schema, table }) => ({ schema: schema!, table: table! }))
}

interface Described {
  readonly kind: string
  readonly persistence: string
  /** Leaf tables (partitions, or the table itself) whose changes cannot be identified. */
  readonly unidentified: readonly TableName[]
  /** Leaf tables whose identity contains a generated column, on a server that then refuses UPDATE and DELETE. */
  readonly generated: readonly Leaf[]
}

interface Leaf extends TableName {
  readonly hasPrimaryKey: boolean
}

// The identity that counts is that of the table in which the row is stored: each partition has its own.
const DESCRIBE = `
  WITH RECURSIVE wanted AS (
    SELECT c.oid AS root, c.oid, c.relkind, c.relpersistence, w.schema, w.name
      FROM unnest($1::text[], $2::text[]) AS w(schema, name)
      JOIN pg_namespace n ON n.nspname = w.schema JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = w.name),
  tree AS (
    SELECT root, oid FROM wanted
    UNION SELECT t.root, i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.oid JOIN wanted w ON w.root = t.root AND w.relkind = 'p')
  SELECT w.schema, w.name, w.relkind AS kind, w.relpersistence AS persistence,
         (SELECT json_agg(json_build_object('schema', n.nspname, 'table', c.relname) ORDER BY n.nspname, c.relname)
            FROM tree t JOIN pg_class c ON c.oid = t.oid AND c.relkind = 'r' JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE t.root = w.root AND NOT CASE c.relreplident WHEN 'f' THEN true WHEN 'n' THEN false
             ELSE EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisvalid AND i.indimmediate
                             AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END) END)::text AS unidentified,
         -- PostgreSQL 18 compares the identity with the published columns, and generated ones are not published.
         (SELECT json_agg(json_build_object('schema', n.nspname, 'table', c.relname, 'hasPrimaryKey',
                   c.relreplident <> 'd' AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary AND i.indimmediate)) ORDER BY n.nspname, c.relname)
            FROM tree t JOIN pg_class c ON c.oid = t.oid AND c.relkind = 'r' JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE t.root = w.root AND current_setting('server_version_num')::int >= 180000 AND EXISTS (
             SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated <> '' AND NOT a.attisdropped
                AND CASE c.relreplident WHEN 'f' THEN true WHEN 'n' THEN false
                  ELSE EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND a.attnum = ANY (i.indkey)
                                  AND CASE c.relreplident WHEN 'i' THEN i.indisreplident ELSE i.indisprimary END) END))::text AS generated
    FROM wanted w`

async function describeTables(
  session: Session,
  tables: readonly TableName[],
): Promise<Map<string, Described>> {
  const rows = await session.rows(DESCRIBE, [
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
  ])
  return new Map(
    rows.map((row) => [
      relationName({ schema: row.schema!, table: row.name! }),
      {
        kind: row.kind!,
        persistence: row.persistence!,
        unidentified: JSON.parse(row.unidentified ?? '[]') as TableName[],
        generated: JSON.parse(row.generated ?? '[]') as Leaf[],
      },
    ]),
  )
}

function refusalOf(table: TableName, found: Described | undefined): RefusedTable | null {
  const name = relationName(table)
  const refuse = (reason: string, remedy: string | null = null) => ({ table: name, reason, remedy })
  if (found === undefined) return refuse(`The table ${name} does not exist.`)
  if (found.kind !== 'r' && found.kind !== 'p')
    return refuse(`${name} is not a table: only tables have changes in the WAL.`)
  if (found.persistence !== 'p')
    return refuse(
      `${name} is unlogged: its changes are not in the WAL.`,
      `ALTER TABLE ${quoteTable(table)} SET LOGGED`,
    )
  const [first] = found.generated
  if (first !== undefined)
    return refuse(
      `The replica identity of ${relationName(first)} contains a generated column, which is not published: once published, every UPDATE and DELETE on it would fail.`,
      first.hasPrimaryKey ? `ALTER TABLE ${quoteTable(first)} REPLICA IDENTITY DEFAULT` : null,
    )
  if (found.unidentified.length === 0) return null
  const which = found.unidentified.map(relationName).join(', ')
  return refuse(
    `${which} has no primary key and no other replica identity: once published, every UPDATE and DELETE on it would fail.`,
    found.unidentified.map((leaf) => `ALTER TABLE ${quoteTable(leaf)} REPLICA IDENTITY FULL`).join('; '),
  )
}

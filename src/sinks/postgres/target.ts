import { VitrinaError } from '../../model/errors.js'
import { databaseError } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { parseTable, quoteIdentifier, quoteList, quoteTable, type TableName } from '../../sql/identifiers.js'
import { type Column, requireColumn } from '../../sql/selection.js'
import { sqlstateOf } from '../../sql/sqlstate.js'

/** The table that a pipeline fills, as far as writing to it is concerned. */
export interface Target {
  readonly name: TableName
  readonly quoted: string
  /** Its number: a table that was dropped and made again has another one. */
  readonly oid: string
  /** What is written: the query's columns, without those that the table computes itself. */
  readonly columns: readonly Column[]
  /** Their types in the table, in the same order. */
  readonly types: readonly string[]
  readonly key: readonly string[]
  /** Those of the key whose values can be equal and yet look different, such as 1.0 and 1.00. */
  readonly looseKey: readonly string[]
  readonly partitioned: boolean
  /** An identity column that insists on its own numbers has to be overruled. */
  readonly overriding: boolean
  /** Every column has the very type that the query has, so that bytes can go in unconverted. */
  readonly sameTypes: boolean
}

interface Attribute {
  readonly name: string
  readonly type: string
  readonly notNull: boolean
  readonly hasDefault: boolean
  readonly identity: string
  readonly generated: boolean
}

/** Creates the table with exactly the query's columns, in its order and with its types. */
export async function createTarget(
  session: Session,
  address: string,
  columns: readonly Column[],
  keyColumns: readonly string[],
): Promise<Target> {
  const name = parseTable(address)
  const definitions = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`)
  await session
    // The lock: IF NOT EXISTS does not help two runs that create the same table at the same moment.
    .run(
      `SELECT pg_advisory_xact_lock(hashtext('vitrina.target')); CREATE TABLE IF NOT EXISTS ${quoteTable(name)} (${definitions.join(', ')}, PRIMARY KEY (${quoteList(keyColumns)}))`,
    )
    .catch((error) => {
      throw targetError(error, `Creating ${name.schema}.${name.table}`)
    })
  return (await findTarget(session, address, columns, keyColumns))!
}

/** The table as it is, or null when there is none yet. Nothing is changed. */
export async function findTarget(
  session: Session,
  address: string,
  columns: readonly Column[],
  keyColumns: readonly string[],
): Promise<Target | null> {
  const name = parseTable(address)
  for (const key of keyColumns) requireColumn(columns, key, 'key_columns')
  const relation = await relationOf(session, name)
  if (relation === null) {
    requireOwnNames(address, columns)
    return null
  }
  const { kind, oid } = relation
  if (kind !== 'r' && kind !== 'p') {
    throw new VitrinaError(
      'TARGET_MISMATCH',
      `${address} is not a table but a ${kind === 'v' ? 'view' : kind === 'f' ? 'foreign table' : `relation of kind "${kind}"`}.`,
      'Choose a table, or a name that is free: it is created then.',
    )
  }
  const attributes = await attributesOf(session, name)
  const { key, looseKey } = await conflictKey(session, name, columns, attributes, keyColumns)
  const written = writtenColumns(address, columns, attributes, key)
  return {
    name,
    quoted: quoteTable(name),
    oid,
    columns: written,
    key,
    looseKey,
    partitioned: kind === 'p',
    overriding: attributes.some(
      (attribute) => attribute.identity === 'a' && written.some((column) => column.name === attribute.name),
    ),
    types: written.map((column) => attributes.find((attribute) => attribute.name === column.name)!.type),
    sameTypes:
      written.length === columns.length &&
      written.every((column) => attributes.find((a) => a.name === column.name)?.type === column.type),
  }
}

const SYSTEM_COLUMNS: ReadonlySet<string> = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid'])

function requireOwnNames(address: string, columns: readonly Column[]): void {
  const taken = columns.find(({ name }) => SYSTEM_COLUMNS.has(name))
  if (taken === undefined) return
  throw new VitrinaError(
    'TARGET_MISMATCH',
    `${address} cannot be created with a column "${taken.name}": every table of PostgreSQL has one of its own.`,
    `Give it another name, for example ${taken.name} AS source_${taken.name}.`,
  )
}

async function relationOf(session: Session, name: TableName): Promise<{ kind: string; oid: string } | null> {
  const [row] = await session.rows<{ kind: string; oid: string }>(
    `SELECT c.relkind::text AS kind, c.oid::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2`,
    [name.schema, name.table],
  )
  return row ?? null
}

async function attributesOf(session: Session, name: TableName): Promise<Attribute[]> {
  const rows = await session.rows(
    `SELECT a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull::text AS not_null, a.atthasdef::text AS has_default,
            a.attidentity::text AS identity, (a.attgenerated <> '')::text AS generated
       FROM pg_catalog.pg_attribute a
      WHERE a.attrelid = pg_catalog.to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
    [quoteTable(name)],
  )
  return rows.map((row) => ({
    name: row.name!,
    type: row.type!,
    notNull: row.not_null === 'true',
    hasDefault: row.has_default === 'true',
    identity: row.identity!,
    generated: row.generated === 'true',
  }))
}

/** The columns to upsert by: those that the pipeline names, else the primary key. A unique index must stand behind them. */
async function conflictKey(
  session: Session,
  name: TableName,
  columns: readonly Column[],
  attributes: readonly Attribute[],
  keyColumns: readonly string[],
): Promise<{ key: string[]; looseKey: string[] }> {
  // Support function 4 of an operator class vouches that equal values have the same bytes, where the collation does.
  const rows = await session.rows(
    `SELECT i.indisprimary::text AS is_primary, (SELECT json_agg(json_build_object('name', a.attname, 'loose',
                  NOT coalesce(co.collisdeterministic, true) OR NOT EXISTS (
                    SELECT FROM pg_opclass o JOIN pg_amproc p ON p.amprocfamily = o.opcfamily AND p.amproclefttype = o.opcintype
                     WHERE o.oid = k.class AND p.amprocrighttype = o.opcintype AND p.amprocnum = 4)) ORDER BY k.n)::text
              FROM unnest(i.indkey::int2[], i.indclass::oid[], i.indcollation::oid[]) WITH ORDINALITY AS k(attnum, class, "collation", n)
              JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum LEFT JOIN pg_collation co ON co.oid = k."collation"
             WHERE k.n <= i.indnkeyatts) AS columns
       FROM pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indimmediate
      ORDER BY i.indisprimary DESC`,
    [quoteTable(name)],
  )
  const unique = rows.map((row) => ({
    primary: row.is_primary === 'true',
    columns: JSON.parse(row.columns!) as { name: string; loose: boolean }[],
  }))
  const names = (index: (typeof unique)[number] | undefined) => index?.columns.map((column) => column.name)
  const wanted = keyColumns.length > 0 ? [...keyColumns] : names(unique.find((index) => index.primary))
  const address = `${name.schema}.${name.table}`
  if (wanted === undefined) {
    throw new VitrinaError(
      'TARGET_KEY_MISSING',
      `${address} has no primary key, and the pipeline names no key_columns.`,
      'Give the table a primary key, or set key_columns to the columns of a unique index.',
    )
  }
  const same = unique.find(
    (index) => index.columns.length === wanted.length && wanted.every((name) => names(index)!.includes(name)),
  )
  if (same === undefined) {
    throw new VitrinaError(
      'TARGET_KEY_MISSING',
      `${address} has no unique index on (${wanted.join(', ')}).`,
      `CREATE UNIQUE INDEX ON ${quoteTable(name)} (${quoteList(wanted)})`,
    )
  }
  for (const column of wanted) {
    requireColumn(columns, column, keyColumns.length > 0 ? 'key_columns' : `the primary key of ${address}`)
    if (attributes.some((attribute) => attribute.name === column && !attribute.notNull)) {
      throw new VitrinaError(
        'TARGET_KEY_MISSING',
        `Key column "${column}" of ${address} may be NULL: rows with NULL there would be doubled by a second run.`,
        `ALTER TABLE ${quoteTable(name)} ALTER COLUMN ${quoteIdentifier(column)} SET NOT NULL`,
      )
    }
  }
  return {
    key: wanted,
    looseKey: same.columns.filter((column) => column.loose).map((column) => column.name),
  }
}

function writtenColumns(
  address: string,
  columns: readonly Column[],
  attributes: readonly Attribute[],
  key: readonly string[],
): Column[] {
  const problems = columns
    .filter((column) => !attributes.some((attribute) => attribute.name === column.name))
    .map((column) => `the table has no column "${column.name}" (${column.type})`)
  for (const attribute of attributes) {
    const given = columns.some((column) => column.name === attribute.name)
    if (
      !given &&
      attribute.notNull &&
      !attribute.hasDefault &&
      attribute.identity === '' &&
      !attribute.generated
    ) {
      problems.push(
        `column "${attribute.name}" must not be NULL, has no default, and the query does not return it`,
      )
    }
    if (given && attribute.identity === 'a' && !key.includes(attribute.name)) {
      problems.push(
        `column "${attribute.name}" is GENERATED ALWAYS AS IDENTITY and not part of the key, so it cannot be updated`,
      )
    }
  }
  if (problems.length > 0) {
    throw new VitrinaError(
      'TARGET_MISMATCH',
      `The query does not fit ${address}: ${problems.join('; ')}.`,
      'Change the query or the table so that their columns agree.',
    )
  }
  return columns.filter(
    (column) => !attributes.find((attribute) => attribute.name === column.name)?.generated,
  )
}

/** The server itself says whether each value can be assigned, before anything is read. `asked`: of a copy of the table. */
export async function requireAssignable(
  session: Session,
  { name, columns, overriding: overrides }: Target,
  asked: TableName = name,
): Promise<void> {
  const overriding = overrides ? 'OVERRIDING SYSTEM VALUE ' : ''
  const nulls = columns.map((column) => `NULL::${column.type}`)
  await session
    .rows(
      `EXPLAIN INSERT INTO ${quoteTable(asked)} (${columns.map((column) => quoteIdentifier(column.name)).join(', ')}) ${overriding}SELECT ${nulls.join(', ')} LIMIT 0`,
    )
    .catch((error) => {
      throw targetError(error, `The query does not fit ${name.schema}.${name.table}`)
    })
}

/** In the transaction that has written to it, so that nobody can change it any more. */
export async function requireUnchanged(session: Session, { name, columns, types }: Target): Promise<void> {
  const attributes = await attributesOf(session, name)
  const changed = columns.filter(
    (column, place) => attributes.find((attribute) => attribute.name === column.name)?.type !== types[place],
  )
  if (changed.length === 0) return
  throw new VitrinaError(
    'TARGET_MISMATCH',
    `${name.schema}.${name.table} was changed while the run was writing: ${changed.map((column) => column.name).join(', ')}.`,
    'Run again: it goes on from the last checkpoint.',
  )
}

/** Hopeless errors on the writing side speak of the target. */
export function targetError(error: unknown, doing: string): VitrinaError {
  const known = databaseError(error, doing, 'target')
  if (known.code !== 'TARGET_FAILED') return known
  const hint = isNameInsideFunction(error)
    ? 'Sessions of Vitrina have an empty search_path: write names in triggers and functions of the mart with their schema, or give the function SET search_path.'
    : known.hint
  return new VitrinaError('TARGET_MISMATCH', known.message, hint, {
    cause: error,
    ...(known.sqlstate === null ? {} : { sqlstate: known.sqlstate }),
  })
}

/** No such table, function or type, said by something that the mart calls: our own statements name theirs with the schema. */
function isNameInsideFunction(error: unknown): boolean {
  const { where } = error as { where?: string }
  return /^(42P01|42883|42704)$/.test(sqlstateOf(error) ?? '') && /function /.test(where ?? '')
}

import { VitrinaError } from '../../model/errors.js'
import type { TargetRules } from '../../model/target.js'
import { databaseError } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { parseTable, quoteIdentifier, quoteList, quoteTable, type TableName } from '../../sql/identifiers.js'
import { type Column, requireColumn } from '../../sql/selection.js'
import { sqlstateOf } from '../../sql/sqlstate.js'
import { requireStoredInTargets } from './stored-elsewhere.js'
import { uniqueIndexes } from './unique-indexes.js'

/** The table that a pipeline fills, as far as writing to it is concerned. */
export interface TargetTable {
  readonly name: TableName
  readonly quoted: string
  /** A table that was dropped and created again has another oid. */
  readonly oid: string
  /** The columns that are written: those of the query, without generated columns of the table. */
  readonly columns: readonly Column[]
  /** Their types in the table, in the same order. */
  readonly types: readonly string[]
  readonly key: readonly string[]
  /** Key columns whose values can be equal but look different, such as 1.0 and 1.00. */
  readonly looseKey: readonly string[]
  /** The table has a GENERATED ALWAYS identity column, so INSERT needs OVERRIDING SYSTEM VALUE. */
  readonly overriding: boolean
  /** Every column has the same type as in the query, so bytes can be copied unconverted. */
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

/** The table that a pipeline needs. */
export interface WantedTable {
  readonly address: string
  readonly columns: readonly Column[]
  /** Empty: the primary key of the table. */
  readonly keyColumns: readonly string[]
  /** Where rows may be written: they may be stored in partitions of the table. */
  readonly rules: Pick<TargetRules, 'tables'>
}

/** Creates the table with exactly the columns of the query, in the same order and with the same types. */
export async function createTarget(session: Session, wanted: WantedTable): Promise<TargetTable> {
  const { address, columns, keyColumns } = wanted
  const name = parseTable(address)
  const definitions = columns.map((column) => `${quoteIdentifier(column.name)} ${column.type}`)
  await session
    // The lock: IF NOT EXISTS does not help two runs that create the same table at the same time.
    .run(
      `SELECT pg_advisory_xact_lock(hashtext('vitrina.target')); CREATE TABLE IF NOT EXISTS ${quoteTable(name)} (${definitions.join(', ')}, PRIMARY KEY (${quoteList(keyColumns)}))`,
    )
    .catch((error) => {
      throw targetError(error, `Creating ${name.schema}.${name.table}`)
    })
  return (await findTarget(session, wanted))!
}

/** The existing table; null: it does not exist yet. Read-only. */
export async function findTarget(
  session: Session,
  { address, columns, keyColumns, rules }: WantedTable,
): Promise<TargetTable | null> {
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
      'Choose a table, or an unused name: the table is then created.',
    )
  }
  await requireStoredInTargets(session, oid, rules)
  const attributes = await attributesOf(session, name)
  const { key, looseKey } = await conflictKey(session, name, { columns, attributes, keyColumns })
  const written = writtenColumns(address, key, { columns, attributes })
  return {
    name,
    quoted: quoteTable(name),
    oid,
    columns: written,
    key,
    looseKey,
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
    `${address} cannot be created with a column "${taken.name}": every PostgreSQL table has a system column of that name.`,
    `Rename it in the query, for example ${taken.name} AS source_${taken.name}.`,
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

/** The columns to upsert by: key_columns, or the primary key. They must have a unique index. */
async function conflictKey(
  session: Session,
  name: TableName,
  {
    columns,
    attributes,
    keyColumns,
  }: Pick<WantedTable, 'columns' | 'keyColumns'> & { readonly attributes: readonly Attribute[] },
): Promise<{ key: string[]; looseKey: string[] }> {
  const address = `${name.schema}.${name.table}`
  const indexes = await uniqueIndexes(session, name)
  const primary = indexes.find(({ isPrimary }) => isPrimary)?.columns.map((column) => column.name)
  const wanted = keyColumns.length > 0 ? [...keyColumns] : primary
  if (wanted === undefined) {
    throw new VitrinaError(
      'TARGET_KEY_MISSING',
      `${address} has no primary key, and the pipeline has no key_columns.`,
      'Add a primary key to the table, or set key_columns to the columns of a unique index.',
    )
  }
  const same = indexes.find(
    (index) =>
      index.columns.length === wanted.length &&
      wanted.every((column) => index.columns.some(({ name }) => name === column)),
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
        `Key column "${column}" of ${address} may be NULL: a second run would insert rows with a NULL key again.`,
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
  key: readonly string[],
  { columns, attributes }: { readonly columns: readonly Column[]; readonly attributes: readonly Attribute[] },
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
        `column "${attribute.name}" is NOT NULL without a default, and the query does not return it`,
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
      'Change the query or the table so that their columns match.',
    )
  }
  return columns.filter(
    (column) => !attributes.find((attribute) => attribute.name === column.name)?.generated,
  )
}

/** Asks the server whether every column can be assigned, before anything is read. `asked`: a copy of the table. */
export async function requireAssignable(
  session: Session,
  { name, columns, overriding: overrides }: TargetTable,
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

/** Called in the transaction that has written to the table, so no other session can change it any more. */
export async function requireUnchanged(
  session: Session,
  { name, columns, types }: TargetTable,
): Promise<void> {
  const attributes = await attributesOf(session, name)
  const changed = columns.filter(
    (column, place) => attributes.find((attribute) => attribute.name === column.name)?.type !== types[place],
  )
  if (changed.length === 0) return
  throw new VitrinaError(
    'TARGET_MISMATCH',
    `${name.schema}.${name.table} changed while the run was writing: ${changed.map((column) => column.name).join(', ')}.`,
    'Run again: the run continues from the last checkpoint.',
  )
}

/** Permanent errors while writing are errors of the target. */
export function targetError(error: unknown, doing: string): VitrinaError {
  const known = databaseError(error, doing, 'target')
  if (known.code !== 'TARGET_FAILED') return known
  const hint = isNameInsideFunction(error)
    ? 'Sessions of Vitrina have an empty search_path: qualify names in triggers and functions of the mart with their schema, or add SET search_path to the function.'
    : known.hint
  return new VitrinaError('TARGET_MISMATCH', known.message, hint, {
    cause: error,
    ...(known.sqlstate === null ? {} : { sqlstate: known.sqlstate }),
  })
}

/** A table, function or type is missing inside a function of the mart: our own statements qualify every name. */
function isNameInsideFunction(error: unknown): boolean {
  const { where } = error as { where?: string }
  return /^(42P01|42883|42704)$/.test(sqlstateOf(error) ?? '') && /function /.test(where ?? '')
}

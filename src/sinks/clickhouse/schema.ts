import type { Finding } from '../../model/validation.js'
import type { ClickHouseServer } from './client.js'
import { literal, quote, quoted } from './quoting.js'
import type { RowCodec } from './row-codec.js'

/** Hidden columns: the version of a row, and whether it marks the key as deleted. */
export const VERSION_COLUMN = '_vitrina_version'
export const DELETED_COLUMN = '_vitrina_deleted'

/** The mart and the tables behind it. Users query the view, which shows each key once and no deleted ones. */
export class MartNames {
  readonly database: string
  readonly mart: string

  constructor(name: string, database: string) {
    const parts = name.split('.')
    this.mart = parts.at(-1)!
    this.database = parts.length === 2 ? parts[0]! : database
  }

  get data(): string {
    return `${this.mart}__data`
  }

  /** Where a run builds the replacement of the data. */
  fresh(runId: string): string {
    return `${this.freshPrefix}${plainId(runId)}`
  }

  get freshPrefix(): string {
    return `${this.mart}__new_`
  }

  /** Where a run stores the keys to keep. */
  keys(runId: string): string {
    return `${this.keysPrefix}${plainId(runId)}`
  }

  get keysPrefix(): string {
    return `${this.mart}__keys_`
  }

  full(table: string): string {
    return `${quote(this.database)}.${quote(table)}`
  }

  /** As written in a target. */
  shown(table = this.mart): string {
    return `${this.database}.${table}`
  }
}

function plainId(id: string): string {
  return id.replace(/[^A-Za-z0-9]/g, '')
}

export function createData(names: MartNames, codec: RowCodec): string {
  const columns = codec.columns.map((column) => `${quote(column.name)} ${column.type}`)
  return `CREATE TABLE IF NOT EXISTS ${names.full(names.data)}
    (${columns.join(', ')}, ${quote(VERSION_COLUMN)} UInt64, ${quote(DELETED_COLUMN)} UInt8)
    ENGINE = ReplacingMergeTree(${quote(VERSION_COLUMN)}, ${quote(DELETED_COLUMN)})
    ORDER BY (${quoted(codec.key.map(({ name }) => name))})
    SETTINGS non_replicated_deduplication_window = 1000`
}

export function createView(names: MartNames, codec: RowCodec): string {
  return `CREATE OR REPLACE VIEW ${names.full(names.mart)} AS
    SELECT ${quoted(codec.columns.map(({ name }) => name))} FROM ${names.full(names.data)} FINAL`
}

export interface TableFacts {
  readonly engine: string
  readonly comment: string
  readonly sortingKey: string
  /** The query of a view. */
  readonly select: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
}

export async function hasDatabase(server: ClickHouseServer, names: MartNames): Promise<boolean> {
  const doing = `Checking the database ${names.database}`
  const found = await server.rows({
    sql: `SELECT 1 FROM system.databases WHERE name = ${literal(names.database)}`,
    doing,
  })
  return found.length > 0
}

/** Null if it does not exist. */
export async function findStoredTable(
  server: ClickHouseServer,
  names: MartNames,
  table: string,
): Promise<TableFacts | null> {
  const doing = `Inspecting ${names.shown(table)}`
  const here = `database = ${literal(names.database)}`
  const [facts] = await server.rows({
    sql: `SELECT engine, comment, sorting_key, as_select FROM system.tables WHERE ${here} AND name = ${literal(table)}`,
    doing,
  })
  if (facts === undefined) return null
  const columns = await server.rows({
    sql: `SELECT name, type FROM system.columns WHERE ${here} AND table = ${literal(table)} ORDER BY position`,
    doing,
  })
  return {
    engine: facts[0]!,
    comment: facts[1]!,
    sortingKey: facts[2]!,
    select: facts[3]!,
    columns: columns.map(([name, type]) => ({ name: name!, type: type! })),
  }
}

/** Tables left behind by runs that died. */
export async function tablesLike(
  server: ClickHouseServer,
  names: MartNames,
  prefix: string,
): Promise<string[]> {
  const rows = await server.rows({
    sql: `SELECT name FROM system.tables WHERE database = ${literal(names.database)} AND startsWith(name, ${literal(prefix)})`,
    doing: `Listing ${names.shown(prefix)}…`,
  })
  return rows.map(([name]) => name!)
}

export async function dropTable(server: ClickHouseServer, names: MartNames, table: string): Promise<void> {
  await server.command({
    sql: `DROP TABLE IF EXISTS ${names.full(table)}`,
    doing: `Dropping ${names.shown(table)}`,
  })
}

/** Why the query cannot be written to the existing tables. */
export function mismatches(
  names: MartNames,
  codec: RowCodec,
  { view, data }: { readonly view: TableFacts | null; readonly data: TableFacts | null },
): Finding[] {
  const wrong: { message: string; hint: string }[] = []
  if (view !== null && !view.select.includes(names.data))
    wrong.push({
      message: `${names.shown()} exists and is not a Vitrina mart but ${view.engine === 'View' ? 'another view' : `a table (${view.engine})`}.`,
      hint: 'Choose an unused name, or rename the existing object.',
    })
  if (data !== null) wrong.push(...dataMismatches(names, codec, data))
  return wrong.map((one) => targetFinding({ code: 'TARGET_MISMATCH', ...one }))
}

export function targetFinding(finding: Omit<Finding, 'field' | 'position'> & { field?: string }): Finding {
  return { field: 'target_table', ...finding, position: null }
}

function dataMismatches(names: MartNames, codec: RowCodec, data: TableFacts) {
  const table = names.shown(names.data)
  const wrong: { message: string; hint: string }[] = []
  if (!data.engine.endsWith('ReplacingMergeTree'))
    wrong.push({
      message: `${table} has the engine ${data.engine}; a mart needs ReplacingMergeTree(${VERSION_COLUMN}, ${DELETED_COLUMN}).`,
      hint: `Drop ${table} so that the next run creates it.`,
    })
  const key = codec.key.map(({ name }) => name)
  if (plainKey(data.sortingKey) !== plainKey(key.map(quote).join(', ')))
    wrong.push({
      message: `${table} is ordered by ${data.sortingKey || 'nothing'}, but the key of the pipeline is ${key.join(', ')}.`,
      hint: `Set key_columns accordingly, or drop ${table} so that the next run creates it.`,
    })
  const expected = [
    ...codec.columns,
    { name: VERSION_COLUMN, type: 'UInt64' },
    { name: DELETED_COLUMN, type: 'UInt8' },
  ]
  return [...wrong, ...expected.flatMap((column) => columnMismatch(table, column, data))]
}

/** The server shows a single column with or without parentheses, and quotes only where necessary. */
function plainKey(key: string): string {
  return key.replace(/[\s`()]/g, '')
}

function columnMismatch(
  table: string,
  column: { readonly name: string; readonly type: string },
  data: TableFacts,
): { message: string; hint: string }[] {
  const found = data.columns.find(({ name }) => name === column.name)
  const change = (how: string) =>
    `ALTER TABLE ${table} ${how} COLUMN ${quote(column.name)} ${column.type}, or drop ${table} so that the next run creates it.`
  if (found === undefined)
    return [{ message: `${table} has no column "${column.name}".`, hint: change('ADD') }]
  if (holds(found.type, column.type)) return []
  const message = `Column "${column.name}" of ${table} is ${found.type}; the query needs ${column.type}.`
  return [{ message, hint: change('MODIFY') }]
}

/** LowCardinality only changes the storage, and a Nullable column also accepts non-NULL values. */
function holds(found: string, needed: string): boolean {
  const plain = found.replace(/^LowCardinality\((.*)\)$/, '$1')
  return plain === needed || plain === `Nullable(${needed})`
}

/** Columns of the table that the query does not fill. */
export function unfilled(codec: RowCodec, data: TableFacts): string[] {
  const filled = new Set([...codec.columns.map(({ name }) => name), VERSION_COLUMN, DELETED_COLUMN])
  return data.columns.filter(({ name }) => !filled.has(name)).map(({ name }) => name)
}

import type { Pipeline } from '../../model/pipeline.js'
import type { TableName } from '../../model/table-name.js'
import type { Queryable } from '../database.js'

/** Every name of the database that a connection leads to; null is the main database. */
export type NamesOfConnection = (connection: string | null) => readonly (string | null)[]

interface TablesRead {
  readonly pipeline: Pipeline
  readonly names: ReturnType<NamesOfConnection>
  readonly tables: readonly TableName[]
}

/** Stores the tables that a pipeline reads. What would close a cycle is not followed. */
export async function noteTables(
  database: Queryable,
  { pipeline, names, tables }: TablesRead,
): Promise<void> {
  await database.query('SELECT etl.note_reads($1, $2, $3, $4, false)', [
    pipeline.id,
    names,
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
  ])
}

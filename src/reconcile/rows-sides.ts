import { VitrinaError } from '../model/errors.js'
import type { SideSummary } from '../model/reconcile.js'
import type { RowDigest, Sink } from '../ports/sink.js'
import type { TransformChain } from '../ports/transforms.js'
import type { Session } from '../postgres/session.js'
import type { TargetTable } from '../sinks/postgres/target.js'
import { readLines, readPortions } from '../sources/postgres/lines.js'
import type { TextValues } from '../sql/copy-text.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import type { RowBatch } from '../sql/row-batch.js'
import { asRelation, type Column, columnList, where } from '../sql/selection.js'
import { ScannedSide } from './scanned-side.js'
import { type ComparedColumn, inKeys, type KeyTexts, serializeKey, type TableSide } from './side.js'

/** A source that is compared row by row, because no database has its rows in their final form. */
export interface TransformedSource {
  readonly source: Session
  readonly query: string
  /** What the query returns; `chain` transforms it. */
  readonly columns: readonly Column[]
  readonly chain: TransformChain | null
  readonly key: readonly Column[]
}

/** The rows of the source now, transformed, as the mart would store them. */
export function rowsOfSource(
  from: TransformedSource,
  digestsOf: (rows: readonly TextValues[]) => Promise<readonly RowDigest[]>,
  control: TableSide,
): ScannedSide {
  const { source, query, columns, chain, key } = from
  const changed = async (batch: RowBatch) => (chain === null ? batch : await chain.run(batch)).rows
  async function* rows(keys: readonly KeyTexts[] | null): AsyncGenerator<readonly RowDigest[]> {
    const conditions = keys === null ? [] : [inKeys(key, keys)]
    const selection = `SELECT ${columnList(columns)} FROM ${asRelation(query)}${where(conditions)}`
    for await (const batch of readPortions(source, selection)) yield await digestsOf(await changed(batch))
  }
  const marks = async (keys: readonly KeyTexts[], mark: string) => {
    const selection = `SELECT ${columnList(key)}, (${mark})::text FROM ${asRelation(query)}${where([inKeys(key, keys)])}`
    const found = await readLines(source, selection)
    return new Map(found.rows.map((row) => [serializeKey(row.slice(0, key.length)), row[key.length] ?? '']))
  }
  const summary = async (field: string): Promise<SideSummary> => {
    const summary = await control.summary(field)
    if (chain === null) return summary
    let count = 0
    for await (const portion of rows(null)) count += portion.length
    return { ...summary, count }
  }
  return new ScannedSide({ rows, marks, summary })
}

/** The rows of a sink. It does not record who wrote a row. */
export function rowsOfSink(sink: Sink): ScannedSide {
  return new ScannedSide({
    rows: () => sink.digests(),
    marks: async () => null,
    summary: (field) => sink.summary(field),
  })
}

export function notThere(target: string): VitrinaError {
  return new VitrinaError(
    'TARGET_MISMATCH',
    `${target} does not exist yet.`,
    'Run the pipeline once, then compare.',
  )
}

/** Rows as the table would store them: its server casts them, so that 1.5 equals 1.50 in a numeric(4,2). */
export function asTableHolds(
  session: Session,
  table: TargetTable,
  {
    compared,
    columns,
  }: { readonly compared: readonly ComparedColumn[]; readonly columns: readonly Column[] },
): (rows: readonly TextValues[]) => Promise<readonly RowDigest[]> {
  const places = compared.map(({ name }) => columns.findIndex((column) => column.name === name))
  const values = compared.map(({ type }, n) => `(v.c${n}::${type})::text`)
  const arrays = compared.map((_, n) => `$${n + 1}::text[]`)
  const sql = `SELECT ${values.map((value, n) => `${value} AS c${n}`).join(', ')} FROM unnest(${arrays.join(', ')}) AS v(${compared.map((_, n) => `c${n}`).join(', ')})`
  const digest = tableDigest(table, compared)
  return async (rows) => {
    const cast = await session.rows(
      sql,
      places.map((place) => rows.map((row) => row[place] ?? null)),
    )
    return cast.map((row) => digest(compared.map((_, n) => row[`c${n}`] ?? null)))
  }
}

/** The rows of the table with their versions. */
export function rowsOfTable(
  session: Session,
  table: TargetTable,
  { compared, control }: { readonly compared: readonly ComparedColumn[]; readonly control: TableSide },
): ScannedSide {
  const digest = tableDigest(table, compared)
  const texts = compared.map(({ name }) => `${quoteIdentifier(name)}::text`)
  const key = table.key.map((name) => compared.find((column) => column.name === name)!)
  async function* rows(keys: readonly KeyTexts[] | null): AsyncGenerator<readonly RowDigest[]> {
    const conditions = keys === null ? [] : [inKeys(key, keys)]
    for await (const batch of readPortions(
      session,
      `SELECT ${texts.join(', ')} FROM ${table.quoted}${where(conditions)}`,
      'target',
    ))
      yield batch.rows.map(digest)
  }
  const marks = async (keys: readonly KeyTexts[], mark: string) => {
    const names = key.map(({ name }) => `${quoteIdentifier(name)}::text`)
    const found = await readLines(
      session,
      `SELECT ${names.join(', ')}, (${mark})::text FROM ${table.quoted}${where([inKeys(key, keys)])}`,
      'target',
    )
    return new Map(found.rows.map((row) => [serializeKey(row.slice(0, key.length)), row[key.length] ?? '']))
  }
  return new ScannedSide({ rows, marks, summary: (field) => control.summary(field) })
}

function tableDigest(
  table: TargetTable,
  compared: readonly ComparedColumn[],
): (row: TextValues) => RowDigest {
  const places = table.key.map((name) => compared.findIndex((column) => column.name === name))
  return (row) => ({ key: places.map((place) => row[place] ?? null), digest: JSON.stringify(row) })
}

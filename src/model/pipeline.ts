import type { PipelineSpec } from './pipeline-spec.js'
import type { PipelineStatus } from './status.js'
import { quoteIdentifier, quoteTable, readTableName } from './table-name.js'

export type { PipelineSpec }

/** How the rows of a pipeline reach its target. See docs/architecture.md. */
export type Way = 'pushdown' | 'relay' | 'rows'
export type Strategy = 'sql_full' | 'sql_incremental' | 'tasks_full' | 'tasks_incremental'
export type Guarantee = 'lossless' | 'lossless if the database sets the key' | 'bounded'

/** One step of a task plan. */
export interface Task {
  readonly id: string
  readonly orderIndex: number
  readonly taskType: 'SQL' | 'PYTHON'
  /** SQL text, or the name of a registered transform; never a path, a module or code. */
  readonly body: string
  /** For documentation only: the body determines what is read. */
  readonly sourceTable: string | null
  readonly targetTable: string | null
}

/** What manages a configuration: the API, or the files of "vitrina apply". */
export const MANAGERS = ['api', 'file'] as const
export type Manager = (typeof MANAGERS)[number]

export interface Pipeline extends PipelineSpec {
  readonly id: string
  readonly managedBy: Manager
  readonly status: PipelineStatus
  readonly configVersion: number
  readonly tasks: readonly Task[]
  readonly createdAt: string
  readonly updatedAt: string
}

/** The fields that determine the rows that are read. */
export type ReadPart = Pick<PipelineSpec, 'sourceQuery' | 'sourceTable' | 'sourceColumns'> & {
  readonly tasks: readonly Pick<Task, 'body'>[]
}

/**
 * The SQL that feeds a pipeline: the reader of its task plan, or else its own query (the legacy mode), or the query
 * for its table. Guard, validation, preview, runs, comparisons and lineage all read this text. Empty: no source.
 */
export function readerQuery({ tasks, sourceQuery, sourceTable, sourceColumns }: ReadPart): string {
  return tasks[0]?.body ?? sourceQuery ?? (sourceTable === null ? '' : tableQuery(sourceTable, sourceColumns))
}

/** A name that is not `schema.table` is passed on as one quoted name, which the guard rejects. */
function tableQuery(table: string, columns: readonly string[]): string {
  const name = readTableName(table)
  const list = columns.length === 0 ? '*' : columns.map(quoteIdentifier).join(', ')
  return `SELECT ${list} FROM ${name === null ? quoteIdentifier(table) : quoteTable(name)}`
}

/** The field that the text of `readerQuery` comes from. A table has no text that a position could refer to. */
export function readerField({ tasks, sourceTable }: Pick<ReadPart, 'tasks' | 'sourceTable'>): ReaderField {
  if (tasks.length > 0) return 'tasks.0.body'
  return sourceTable === null ? 'source_query' : 'source_table'
}
/** The text of `readerQuery` is generated from the name of a table. */
export function readsTable(pipeline: Pick<ReadPart, 'tasks' | 'sourceTable'>): boolean {
  return readerField(pipeline) === 'source_table'
}

export type ReaderField = 'tasks.0.body' | 'source_query' | 'source_table'

/** The last step of a plan may override the target. */
export function finalTarget(pipeline: {
  readonly tasks: readonly Pick<Task, 'targetTable'>[]
  readonly targetTable: string
}): string {
  return pipeline.tasks.at(-1)?.targetTable ?? pipeline.targetTable
}

/** Registered functions change the rows on their way. */
export function hasTransforms(pipeline: Pick<Pipeline, 'tasks'>): boolean {
  return transformNames(pipeline).length > 0
}

/** In the order in which they are called. */
export function transformNames(pipeline: Pick<Pipeline, 'tasks'>): string[] {
  return pipeline.tasks.filter((task) => task.taskType === 'PYTHON').map((task) => task.body)
}

/** The columns that incremental_key names: one, or several separated by commas. */
export function incrementalKeys(
  { incrementalKey }: Pick<PipelineSpec, 'incrementalKey'>,
  columns: readonly { readonly name: string }[],
): string[] {
  if (incrementalKey === null) return []
  // A column may have a comma in its name.
  if (columns.some(({ name }) => name === incrementalKey)) return [incrementalKey]
  return incrementalKey.split(',').map((name) => name.trim())
}

/** The pipeline applies each commit of its source at once. */
export function isLive({
  mode,
  capture,
  freshness,
}: Pick<PipelineSpec, 'mode' | 'capture' | 'freshness'>): boolean {
  return mode === 'incremental' && capture === 'wal' && freshness === 'live'
}

/** Every run rebuilds the mart. */
export function isReplaced(pipeline: Pick<Pipeline, 'mode' | 'fullStrategy'>): boolean {
  return pipeline.mode === 'full' && pipeline.fullStrategy === 'replace'
}

export function strategyOf(pipeline: Pick<Pipeline, 'tasks' | 'mode'>): Strategy {
  return `${pipeline.tasks.length > 0 ? 'tasks' : 'sql'}_${pipeline.mode}`
}

import type { PipelineStatus } from './status.js'

/** How the rows of a pipeline reach its target. See docs/architecture.md, "three ways". */
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
  readonly sourceTable: string | null
  readonly targetTable: string | null
}

/** What somebody configured: a query, a target and a key. Filling it is all that a run does. */
export interface PipelineSpec {
  readonly name: string
  readonly description: string
  readonly type: 'SQL' | 'PYTHON'
  readonly sourceType: string
  readonly sourceConnection: string | null
  readonly sourceQuery: string
  readonly targetTable: string
  readonly targetConnection: string | null
  /** What only this kind of target knows; its sink reads it. */
  readonly targetOptions: Readonly<Record<string, unknown>>
  readonly mode: 'full' | 'incremental'
  readonly fullStrategy: 'upsert' | 'replace'
  readonly incrementalKey: string | null
  readonly incrementalIdKey: string | null
  readonly capture: 'key' | 'xmin'
  readonly deletes: 'ignore' | 'sweep'
  /** Empty: the primary key of the target table. */
  readonly keyColumns: readonly string[]
  /** Null is `auto`: the engine keeps a batch near its target duration. */
  readonly batchSize: number | null
  readonly enabled: boolean
  readonly scheduleInterval: string | null
  readonly scheduleTimezone: string
  /** Rows a run may put into quarantine before it fails. */
  readonly quarantineLimit: number
  /** Share of a mart (0 to 1) that one run may remove before the brake stops it. */
  readonly deleteBrake: number
}

/** Who answers for a configuration: people and programs by the API, or the files of "vitrina apply". */
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

/** The SQL that feeds a pipeline: the reader of its task plan, or else its own query (the legacy mode). */
export function readerQuery(pipeline: Pick<Pipeline, 'tasks' | 'sourceQuery'>): string {
  return pipeline.tasks[0]?.body ?? pipeline.sourceQuery
}

/** The last step of a plan may override where the rows go. */
export function finalTarget(pipeline: Pick<Pipeline, 'tasks' | 'targetTable'>): string {
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

/** Every run builds the mart anew. */
export function isReplaced(pipeline: Pick<Pipeline, 'mode' | 'fullStrategy'>): boolean {
  return pipeline.mode === 'full' && pipeline.fullStrategy === 'replace'
}

export function strategyOf(pipeline: Pick<Pipeline, 'tasks' | 'mode'>): Strategy {
  return `${pipeline.tasks.length > 0 ? 'tasks' : 'sql'}_${pipeline.mode}`
}

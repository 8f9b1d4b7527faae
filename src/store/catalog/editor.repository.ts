import { isDeepStrictEqual } from 'node:util'
import type { Author } from '../../model/access.js'
import { VitrinaError } from '../../model/errors.js'
import type { PipelineVersion } from '../../model/history.js'
import type { RelationRead } from '../../model/order.js'
import type { Pipeline } from '../../model/pipeline.js'
import {
  type FieldDefinition,
  PIPELINE_FIELD_NAMES,
  PIPELINE_FIELDS,
  type PipelineField,
} from '../../model/pipeline-fields.js'
import { columnsOf } from '../../model/pipeline-spec.js'
import type { Page, PageRequest, State } from '../../ports/catalog.js'
import type {
  CheckpointValue,
  PipelineChange,
  PipelineDraft,
  PipelineEditor,
  TargetClaim,
  TaskDraft,
} from '../../ports/pipeline-editor.js'
import { sqlstateOf } from '../../sql/sqlstate.js'
import type { Database, Queryable } from '../database.js'
import { signTransaction, writeAudit } from './audit.js'
import { findPipeline, findState, lockPipeline } from './find.js'
import { pageOf, readNumberCursor } from './page.js'

const UNIQUE_VIOLATION = '23505'
const START: CheckpointValue = { lastProcessedKey: null, lastProcessedId: null }

/** Versions and audit are written by triggers of the database. */
const COLUMNS = [...PIPELINE_FIELD_NAMES, 'managed_by']

export class CatalogEditorRepository implements PipelineEditor {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async otherWriter({ id, name, addresses, connection, isShared }: TargetClaim) {
    const [other] = await this.#database.query<{ id: string; name: string }>(
      `SELECT p.id, p.name FROM unnest($1::text[]) AS spelling
         JOIN etl.etl_pipeline_targets t ON t.identity = etl.target_identity(spelling, $2) JOIN etl.etl_pipelines p ON p.id = t.pipeline_id
        WHERE p.id IS DISTINCT FROM $3::uuid AND p.name <> $4 AND NOT (t.shared AND $5) ORDER BY p.name LIMIT 1`,
      [addresses, connection, id, name, isShared],
    )
    return other ?? null
  }

  create(draft: PipelineDraft, author: Author, reads: readonly RelationRead[]): Promise<Pipeline> {
    return this.#edit(draft.name, async (session) => {
      await signTransaction(session, author)
      const [row] = await session.query<{ id: string }>(
        `INSERT INTO etl.etl_pipelines (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map((_, n) => `$${n + 1}`).join(', ')}) RETURNING id`,
        valuesOf(draft),
      )
      await insertTasks(session, row!.id, draft.tasks)
      await requireUpstreams(session, draft)
      await noteReads(session, { id: row!.id, reads, strict: true })
      return (await findPipeline(session, row!.id))!
    })
  }

  async change(id: string, { action, author, decide, reads }: PipelineChange): Promise<Pipeline | null> {
    let name = ''
    return this.#edit(
      () => name,
      async (session) => {
        await signTransaction(session, author, action)
        const current = await lockPipeline(session, id)
        if (current === null) return null
        const { draft, resetCheckpoint } = decide(current, await hasCheckpoint(session, id))
        name = draft.name
        if (!sameTasks(current.tasks, draft.tasks)) {
          await session.query('DELETE FROM etl.etl_pipeline_tasks WHERE pipeline_id = $1', [id])
          await insertTasks(session, id, draft.tasks)
        }
        const sets = COLUMNS.map((column, n) => `${column} = $${n + 2}`)
        await session.query(`UPDATE etl.etl_pipelines SET ${sets.join(', ')} WHERE id = $1`, [
          id,
          ...valuesOf(draft),
        ])
        if (!isDeepStrictEqual(current.after, draft.after)) await requireUpstreams(session, draft)
        if (reads !== null) await noteReads(session, { id, reads, strict: true })
        if (resetCheckpoint) await resetState(session, author, { pipeline: current, to: START })
        return findPipeline(session, id)
      },
    )
  }

  async learnReads(
    { id, configVersion }: Pick<Pipeline, 'id' | 'configVersion'>,
    reads: readonly RelationRead[],
  ): Promise<void> {
    if (reads.length > 0) await noteReads(this.#database, { id, reads, strict: false })
    await this.#database.query('SELECT etl.know_reads($1, $2)', [id, configVersion])
  }

  remove(id: string, author: Author, check: (current: Pipeline) => void): Promise<boolean> {
    return this.#database.transaction(async (session) => {
      await signTransaction(session, author)
      const current = await lockPipeline(session, id)
      if (current === null) return false
      check(current)
      await session.query('DELETE FROM etl.etl_pipelines WHERE id = $1', [id])
      return true
    })
  }

  reset(id: string, author: Author, decide: (current: Pipeline) => CheckpointValue): Promise<State | null> {
    return this.#database.transaction(async (session) => {
      const current = await lockPipeline(session, id)
      if (current === null) return null
      await resetState(session, author, { pipeline: current, to: decide(current) })
      return findState(session, id)
    })
  }

  reload(id: string, author: Author): Promise<Pipeline | null> {
    return this.#database.transaction(async (session) => {
      const pipeline = await findPipeline(session, id)
      if (pipeline === null) return null
      const diff = { config_version: pipeline.configVersion }
      await writeAudit(session, author, {
        action: 'pipeline.reload',
        kind: 'pipeline',
        id,
        name: pipeline.name,
        diff,
      })
      return pipeline
    })
  }

  async listVersions(id: string, { limit, cursor }: PageRequest): Promise<Page<PipelineVersion>> {
    const rows = await this.#database.query<PipelineVersion>(
      `SELECT ${VERSION_COLUMNS} FROM etl.etl_pipeline_versions
        WHERE pipeline_id = $1 AND ($2::bigint IS NULL OR version < $2) ORDER BY version DESC LIMIT $3`,
      [id, readNumberCursor(cursor), limit + 1],
    )
    return pageOf(rows, limit, (row) => [row.version])
  }

  async getVersion(id: string, version: number): Promise<PipelineVersion | null> {
    const [row] = await this.#database.query<PipelineVersion>(
      `SELECT ${VERSION_COLUMNS} FROM etl.etl_pipeline_versions WHERE pipeline_id = $1 AND version = $2`,
      [id, version],
    )
    return row ?? null
  }

  /** The name is the only field that must be unique. */
  #edit<T>(name: string | (() => string), work: (session: Queryable) => Promise<T>): Promise<T> {
    return this.#database.transaction(work).catch((error) => {
      if (sqlstateOf(error) !== UNIQUE_VIOLATION) throw error
      throw nameTaken(typeof name === 'string' ? name : name(), error)
    })
  }
}

/** A misspelt name would mean that the pipeline never follows anything. */
async function requireUpstreams(session: Queryable, { name, after }: PipelineDraft): Promise<void> {
  const missing = await session.query<{ wanted: string }>(
    'SELECT wanted FROM unnest($1::text[]) AS wanted WHERE NOT EXISTS (SELECT FROM etl.etl_pipelines p WHERE p.name = wanted)',
    [after ?? []],
  )
  if (missing.length === 0) return
  throw new VitrinaError(
    'AFTER_UNKNOWN',
    `Pipeline "${name}" cannot follow ${missing.map(({ wanted }) => `"${wanted}"`).join(', ')}: no pipeline has this name.`,
    'Correct the name in after, or create that pipeline first.',
  )
}

interface NewReads {
  readonly id: string
  readonly reads: readonly RelationRead[]
  /** A cycle is rejected. */
  readonly strict: boolean
}

async function noteReads(session: Queryable, { id, reads, strict }: NewReads): Promise<void> {
  const names = new Set(reads.map(({ connection }) => connection))
  const tables = reads.filter(({ connection }) => connection === reads[0]?.connection)
  await session.query('SELECT etl.note_reads($1, $2, $3, $4, $5)', [
    id,
    [...names],
    tables.map(({ schema }) => schema),
    tables.map(({ table }) => table),
    strict,
  ])
}

const VERSION_COLUMNS = 'pipeline_id AS "pipelineId", version, author, etl.rfc3339(at) AS at, spec, diff'

/** The driver would send a list as an array. */
function storedValue(name: PipelineField, value: unknown): unknown {
  const { isJson }: FieldDefinition = PIPELINE_FIELDS[name]
  return isJson === true ? JSON.stringify(value) : value
}

function valuesOf(draft: PipelineDraft): unknown[] {
  const columns = columnsOf(draft)
  return [...PIPELINE_FIELD_NAMES.map((name) => storedValue(name, columns[name])), draft.managedBy]
}

async function insertTasks(session: Queryable, id: string, tasks: readonly TaskDraft[]): Promise<void> {
  for (const task of tasks) {
    await session.query(
      `INSERT INTO etl.etl_pipeline_tasks (pipeline_id, order_index, task_type, body, source_table, target_table)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, task.orderIndex, task.taskType, task.body, task.sourceTable, task.targetTable],
    )
  }
}

function sameTasks(current: readonly TaskDraft[], wanted: readonly TaskDraft[]): boolean {
  const text = (tasks: readonly TaskDraft[]) =>
    JSON.stringify(
      tasks.map((task) => [task.orderIndex, task.taskType, task.body, task.sourceTable, task.targetTable]),
    )
  return text(current) === text(wanted)
}

/** `position` also keeps the result of the last run; only a cursor or an unfinished pass says where to continue. */
async function hasCheckpoint(session: Queryable, id: string): Promise<boolean> {
  const rows = await session.query(
    `SELECT FROM etl.etl_state WHERE pipeline_id = $1
        AND (last_processed_key IS NOT NULL OR coalesce(position ?| ARRAY['pass', 'cursor', 'xmin', 'wal', 'next', 'xminNext'], false))`,
    [id],
  )
  return rows.length === 1
}

/** `reset` makes the next run copy it to the target database, where the authoritative checkpoint may be. */
async function resetState(
  session: Queryable,
  author: Author,
  { pipeline: { id, name }, to }: { readonly pipeline: Pipeline; readonly to: CheckpointValue },
): Promise<void> {
  const { lastProcessedKey, lastProcessedId } = to
  await session.query(
    `UPDATE etl.etl_state SET last_processed_key = $2, last_processed_id = $3, position = NULL, reset = true, ver = ver + 1,
            updated_at = clock_timestamp() WHERE pipeline_id = $1`,
    [id, lastProcessedKey, lastProcessedId],
  )
  const diff = { last_processed_key: lastProcessedKey, last_processed_id: lastProcessedId }
  await writeAudit(session, author, { action: 'pipeline.reset', kind: 'pipeline', id, name, diff })
}

function nameTaken(name: string, cause: unknown): VitrinaError {
  return new VitrinaError(
    'PIPELINE_NAME_TAKEN',
    `A pipeline named "${name}" already exists.`,
    'Choose another name, or change the existing pipeline.',
    { cause },
  )
}

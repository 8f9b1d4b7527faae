import {
  adviseIdentities,
  applyPublication,
  type CaptureLogin,
  ensureHead,
  type Head,
  loginRequirement,
  type PublicationPlan,
  planAddition,
  planPublication,
  type Requirement,
  relationName,
  serverRequirements,
} from '../capture/index.js'
import { captureUrl, loginUrl, type Settings } from '../config/settings.js'
import { SqlGuard } from '../guard/index.js'
import { MAIN_CONNECTION } from '../model/connection.js'
import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Pipeline } from '../model/pipeline.js'
import type { FollowedTable, IdentityAdvice } from '../model/source.js'
import { kindOf } from '../model/target.js'
import { connectionUrl } from '../postgres/connection-url.js'
import { databaseError, inspectionError, onSide } from '../postgres/errors.js'
import { READ_ONLY, Session } from '../postgres/session.js'
import { findTarget } from '../sinks/postgres/target.js'
import type { TableName } from '../sql/identifiers.js'
import type { Column } from '../sql/selection.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import { Database } from '../store/database.js'
import { PIPELINE_COLUMNS, type PipelineRow, toPipeline } from '../store/rows.js'
import { type QueryTrace, traceQuery } from '../transfers/changes/query-trace.js'
import { describeSource } from '../transfers/examine.js'
import { targetRules } from './targets.js'

/** What is missing until the changes of a source can be captured for all pipelines that need them. */
export interface SourcePlan {
  readonly connection: string
  readonly slot: string
  readonly publication: string
  readonly pipelines: readonly PlannedPipeline[]
  readonly server: readonly Requirement[]
  readonly login: Requirement
  readonly publish: PublicationPlan
  readonly identities: readonly IdentityAdvice[]
  /** A run can start: identities only make it cheaper. */
  readonly isReady: boolean
}

export interface PlannedPipeline {
  readonly name: string
  readonly tables: readonly string[]
  /** Why its query cannot be read now; its tables are not planned. */
  readonly problem: string | null
}

export interface PlanOptions {
  /** `main` or the name of a connection. */
  readonly connection: string
  /** The owner of the tables; null: DATABASE_URL, or the address of the connection. */
  readonly ownerUrl: string | null
  readonly signal: AbortSignal
}

/** The connections that configured pipelines with capture wal read from. */
export async function capturedConnections(settings: Settings): Promise<string[]> {
  const pipelines = await capturePipelines(settings)
  return [...new Set(pipelines.map(connectionOf))].sort()
}

/** Reads what is there and plans the rest. The source is not changed. */
export async function planSource(settings: Settings, options: PlanOptions): Promise<SourcePlan> {
  return withOwner(settings, options, (owner) => planWith(settings, options, owner))
}

export interface ApplyOptions extends PlanOptions {
  /** Also the statements for the replica identities. */
  readonly identity: boolean
  readonly onStatement: (statement: string) => void
}

/** Runs the statements for the publication, and those for the identities if requested; then plans again. */
export async function applySource(settings: Settings, options: ApplyOptions): Promise<SourcePlan> {
  return withOwner(settings, options, async (owner) => {
    const { publish, identities, connection } = await planWith(settings, options, owner)
    const chosen = options.identity ? identities.flatMap(({ statements }) => statements) : []
    for (const statement of [...publish.statements, ...chosen]) {
      await applyPublication(owner, { statements: [statement], refused: [] }).catch((error) => {
        throw notAllowed(error, statement, connection)
      })
      options.onStatement(statement)
    }
    return planWith(settings, options, owner)
  })
}

async function planWith(
  settings: Settings,
  { connection, signal }: PlanOptions,
  owner: Session,
): Promise<SourcePlan> {
  const pipelines = (await capturePipelines(settings)).filter((one) => connectionOf(one) === connection)
  const head = await headOf(settings, connection, signal)
  const read = await readPipelines(settings, pipelines, signal)
  const traced = read.flatMap(({ trace }) => (trace === null ? [] : [trace]))
  const followed = mergeTables(traced.flatMap(tablesOf))
  // A query that cannot be read now may need a table that is published already.
  const isComplete = traced.length === read.length
  const publish = await onSide('source', 'Reading the publication', () =>
    (isComplete ? planPublication : planAddition)(owner, head.publication, followed),
  )
  const refused = new Set(publish.refused.map(({ table }) => table))
  const identities = await adviseIdentities(
    owner,
    followed.filter((table) => !refused.has(relationName(table))),
  )
  const server = await serverRequirements(owner, head.slot)
  const login = await loginRequirement(owner, captureLogin(settings, connection))
  return {
    connection,
    slot: head.slot,
    publication: head.publication,
    server,
    login,
    publish,
    identities,
    pipelines: read.map(({ name, trace, problem }) => ({
      name,
      problem,
      tables: trace === null ? [] : mergeTables(tablesOf(trace)).map(relationName),
    })),
    isReady:
      publish.statements.length === 0 && refused.size === 0 && [...server, login].every(({ isMet }) => isMet),
  }
}

function connectionOf({ sourceConnection }: Pipeline): string {
  return sourceConnection?.toLowerCase() ?? MAIN_CONNECTION
}

function captureLogin(settings: Settings, connection: string): CaptureLogin {
  const url = captureUrl(settings, connection)!
  const isMain = connection === MAIN_CONNECTION
  const setting = isMain
    ? 'VITRINA_CAPTURE_DATABASE_URL'
    : `VITRINA_CONNECTION_${connection.toUpperCase()}_CAPTURE_URL`
  const isOwn = isMain
    ? settings.VITRINA_CAPTURE_DATABASE_URL !== undefined
    : settings.connections.has(`${connection}_capture`)
  return { user: decodeURIComponent(new URL(url).username), setting, isOwn }
}

async function capturePipelines(settings: Settings): Promise<Pipeline[]> {
  const database = new Database(loginUrl(settings, 'writer'), { name: 'vitrina-cli', size: 1 })
  try {
    const rows = await database.query<PipelineRow>(
      `SELECT ${PIPELINE_COLUMNS} FROM etl.etl_pipelines p WHERE p.capture = 'wal' AND p.mode = 'incremental' ORDER BY p.name`,
    )
    return rows.map(toPipeline)
  } finally {
    await database.close()
  }
}

async function headOf(settings: Settings, connection: string, signal: AbortSignal): Promise<Head> {
  const main = await Session.open(loginUrl(settings, 'writer'), 'vitrina-cli', signal)
  try {
    return await ensureHead(main, connection)
  } finally {
    await main.close()
  }
}

interface ReadPipeline {
  readonly name: string
  readonly trace: QueryTrace | null
  readonly problem: string | null
}

async function readPipelines(
  settings: Settings,
  pipelines: readonly Pipeline[],
  signal: AbortSignal,
): Promise<ReadPipeline[]> {
  const read: ReadPipeline[] = []
  for (const pipeline of pipelines) {
    try {
      const trace = await tracePipeline(settings, pipeline, signal)
      read.push({ name: pipeline.name, trace, problem: null })
    } catch (error) {
      signal.throwIfAborted()
      const { message } = inspectionError(error, 'Reading the query', 'source')
      read.push({ name: pipeline.name, trace: null, problem: message })
    }
  }
  return read
}

/** As a run would, with the login of the source queries. */
async function tracePipeline(
  settings: Settings,
  pipeline: Pipeline,
  signal: AbortSignal,
): Promise<QueryTrace> {
  const url = connectionUrl(settings.connections, pipeline.sourceConnection, loginUrl(settings, 'reader'))
  const source = await Session.open(url, 'vitrina-cli', signal)
  try {
    await source.run(READ_ONLY)
    const guard = new SqlGuard({ sourceSchemas: settings.ALLOWED_SOURCE_SCHEMAS })
    const { query, columns } = await describeSource(source, pipeline, guard)
    const key =
      pipeline.keyColumns.length > 0
        ? pipeline.keyColumns
        : await keyOfTarget(settings, { pipeline, columns, signal })
    return await traceQuery(source, query, { key, modified: [] })
  } finally {
    await source.close()
  }
}

interface KeyOptions {
  readonly pipeline: Pipeline
  readonly columns: readonly Column[]
  readonly signal: AbortSignal
}

/** Without key_columns the key is that of the table. */
async function keyOfTarget(
  settings: Settings,
  { pipeline, columns, signal }: KeyOptions,
): Promise<readonly string[]> {
  const address = finalTarget(pipeline)
  if (kindOf(address, targetRules(settings)) !== null) return []
  const url = connectionUrl(settings.connections, pipeline.targetConnection, loginUrl(settings, 'writer'))
  const target = await Session.open(url, 'vitrina-cli', signal)
  try {
    return (
      (await findTarget(target, { address, columns, keyColumns: [], rules: targetRules(settings) }))?.key ??
      []
    )
  } finally {
    await target.close()
  }
}

function tablesOf({ trace, tables }: QueryTrace): FollowedTable[] {
  const followed = trace.traced ? trace.tables : []
  return [
    ...tables.map(({ capturedAs }) => ({ ...capturedAs, columns: [] })),
    ...followed.map(({ capturedAs, columns }) => ({ ...capturedAs, columns })),
  ]
}

/** Each table once, with the columns that any pipeline needs. */
function mergeTables(tables: readonly FollowedTable[]): FollowedTable[] {
  const merged = new Map<string, { name: TableName; columns: Set<string> }>()
  for (const { schema, table, columns } of tables) {
    const key = relationName({ schema, table })
    const one = merged.get(key) ?? { name: { schema, table }, columns: new Set() }
    merged.set(key, one)
    for (const column of columns) one.columns.add(column)
  }
  return [...merged.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { name, columns }]) => ({ ...name, columns: [...columns] }))
}

async function withOwner<T>(
  settings: Settings,
  { connection, ownerUrl, signal }: PlanOptions,
  use: (owner: Session) => Promise<T>,
): Promise<T> {
  requireKnown(settings, connection)
  const url =
    ownerUrl ??
    (connection === MAIN_CONNECTION
      ? (settings.DATABASE_URL ?? loginUrl(settings, 'reader'))
      : settings.connections.get(connection)!)
  const owner = await onSide('source', 'Connecting to the source', () =>
    Session.open(url, 'vitrina-cli', signal),
  )
  try {
    return await use(owner)
  } finally {
    await owner.close()
  }
}

function requireKnown({ connections }: Settings, connection: string): void {
  if (connection === MAIN_CONNECTION || connections.has(connection)) return
  const known = [MAIN_CONNECTION, ...connections.keys()].join(', ')
  throw new VitrinaError(
    'CONNECTION_UNKNOWN',
    `The connection "${connection}" is not configured; configured: ${known}.`,
    `Set VITRINA_CONNECTION_${connection.toUpperCase()}_URL, or choose one of those.`,
  )
}

const INSUFFICIENT_PRIVILEGE = '42501'

function notAllowed(error: unknown, statement: string, connection: string): unknown {
  if (sqlstateOf(error) !== INSUFFICIENT_PRIVILEGE)
    return databaseError(error, `Running ${statement}`, 'source')
  return new VitrinaError(
    'CAPTURE_UNAVAILABLE',
    `The login may not run ${statement}: ${(error as Error).message}.`,
    `Give the address of the owner of the tables: vitrina sources prepare ${connection} --apply --url <address>. Or let the owner run the statements that "vitrina sources prepare ${connection}" prints.`,
    { cause: error, sqlstate: INSUFFICIENT_PRIVILEGE },
  )
}

import { rejectionError, type SqlGuard } from '../guard/index.js'
import { VitrinaError } from '../model/errors.js'
import type { LineageEdge, LineageGraph, LineageNode, LineageProblem } from '../model/lineage.js'
import { finalTarget, type Pipeline, readerQuery } from '../model/pipeline.js'
import { kindOf, type TargetRules } from '../model/target.js'
import { requirePlan } from '../model/task-plan.js'
import { databaseError } from '../postgres/errors.js'
import { parseTable, type TableName } from '../sql/identifiers.js'
import { type Home, Homes, tableId, tableText } from './homes.js'
import { type KnownTable, type KnownTables, readCatalog, tableKey } from './known-tables.js'

export interface FleetSettings {
  readonly readerUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules
  readonly guard: SqlGuard
}

/** A pipeline with the sources and the target found in its text. */
export interface PipelineReading {
  readonly pipeline: Pipeline
  readonly nodeId: string
  readonly source: Home
  readonly reads: readonly TableName[]
  readonly error: LineageProblem | null
  readonly target: LineageTarget
}

/** The target: a table of a database, or the address of another sink. */
type LineageTarget =
  | { readonly table: TableName; readonly home: Home; readonly nodeId: string }
  | { readonly table: null; readonly home: null; readonly nodeId: string }

/** The result of reading the catalogs. */
interface Catalogs {
  readonly known: ReadonlyMap<string | null, KnownTables>
  readonly problems: LineageGraph['problems']
}

/** Every node and every edge of the whole graph. */
export interface Fleet extends Catalogs {
  readonly readings: readonly PipelineReading[]
  readonly nodes: ReadonlyMap<string, LineageNode>
  readonly edges: readonly LineageEdge[]
  /** The tables behind the nodes of databases. */
  readonly tables: ReadonlyMap<string, { readonly name: TableName; readonly home: Home }>
}

/** Reads the text of every pipeline and queries every database once. */
export async function readFleet(
  settings: FleetSettings,
  pipelines: readonly Pipeline[],
  signal: AbortSignal,
): Promise<Fleet> {
  const homes = new Homes(settings.readerUrl, settings.connections)
  const readings: PipelineReading[] = []
  for (const pipeline of pipelines) {
    signal.throwIfAborted()
    readings.push(await readPipeline(settings, homes, pipeline))
  }
  const catalogs = await readCatalogs(readings, signal)
  return { readings, ...catalogs, ...graphOf(readings, catalogs) }
}

async function readPipeline(
  { guard, targets }: FleetSettings,
  homes: Homes,
  pipeline: Pipeline,
): Promise<PipelineReading> {
  const verdict = await guard.check(readerQuery(pipeline))
  return {
    pipeline,
    nodeId: pipelineNode(pipeline),
    source: homes.of(pipeline.sourceConnection),
    reads: verdict.ok ? verdict.relations.map(({ schema, table }) => ({ schema, table })) : [],
    error: planProblem(pipeline) ?? (verdict.ok ? null : lineageProblem(rejectionError(verdict))),
    target: targetOf(pipeline, homes, targets),
  }
}

function planProblem(pipeline: Pipeline): LineageProblem | null {
  try {
    requirePlan(pipeline)
    return null
  } catch (error) {
    return lineageProblem(error as VitrinaError)
  }
}

function pipelineNode({ id }: Pick<Pipeline, 'id'>): string {
  return `pipeline:${id}`
}

function targetOf(pipeline: Pipeline, homes: Homes, rules: TargetRules): LineageTarget {
  const target = finalTarget(pipeline)
  const other: LineageTarget = { table: null, home: null, nodeId: target }
  // Also for an address whose kind is not configured here, or that is not a table name.
  if (kindOf(target, rules) !== null || /^[a-z0-9]+:/.test(target)) return other
  try {
    const table = parseTable(target)
    const home = homes.of(pipeline.targetConnection)
    return { table, home, nodeId: tableId(table, home) }
  } catch {
    return other
  }
}

function lineageProblem({ code, message, hint }: VitrinaError): LineageProblem {
  return { code, message, hint }
}

async function readCatalogs(readings: readonly PipelineReading[], signal: AbortSignal): Promise<Catalogs> {
  const asked = new Map<string | null, { home: Home; names: TableName[] }>()
  const ask = (home: Home, names: readonly TableName[]) => {
    const known = asked.get(home.connection) ?? { home, names: [] }
    known.names.push(...names)
    asked.set(home.connection, known)
  }
  for (const { source, reads, target } of readings) {
    ask(source, reads)
    if (target.table !== null) ask(target.home, [target.table])
  }
  const known = new Map<string | null, KnownTables>()
  const problems: LineageGraph['problems'][number][] = []
  for (const { home, names } of asked.values()) {
    const answer = await readTables(home, names, signal)
    if ('tables' in answer) known.set(home.connection, answer.tables)
    else problems.push({ connection: home.connection, ...answer.problem })
  }
  return { known, problems }
}

/** If a source is down, the graph lacks its columns. */
async function readTables(
  { connection, url }: Home,
  names: readonly TableName[],
  signal: AbortSignal,
): Promise<{ tables: KnownTables } | { problem: LineageProblem }> {
  if (url === null)
    return {
      problem: {
        code: 'CONNECTION_UNKNOWN',
        message: `The connection "${connection}" is not configured.`,
        hint: `Set VITRINA_CONNECTION_${connection?.toUpperCase()}_URL for the API and the runners.`,
      },
    }
  try {
    return { tables: await readCatalog(url, names, signal) }
  } catch (error) {
    signal.throwIfAborted()
    const known = error instanceof VitrinaError ? error : databaseError(error, 'Reading its tables', 'source')
    return { problem: lineageProblem(known) }
  }
}

function graphOf(
  readings: readonly PipelineReading[],
  { known }: Catalogs,
): Pick<Fleet, 'nodes' | 'edges' | 'tables'> {
  const drawing = new Drawing(known)
  for (const { pipeline, nodeId, source, reads, error, target } of readings) {
    drawing.node({
      id: nodeId,
      kind: 'pipeline',
      name: pipeline.name,
      connection: null,
      pipelineId: pipeline.id,
      exists: true,
      error,
    })
    for (const name of reads) drawing.edge(drawing.table(name, source), nodeId)
    drawing.edge(
      nodeId,
      target.table === null ? drawing.sink(target.nodeId) : drawing.table(target.table, target.home),
    )
  }
  return { nodes: drawing.nodes, edges: [...drawing.edges.values()], tables: drawing.tables }
}

class Drawing {
  readonly nodes = new Map<string, LineageNode>()
  readonly edges = new Map<string, LineageEdge>()
  readonly tables = new Map<string, { name: TableName; home: Home }>()
  readonly #known: Catalogs['known']

  constructor(known: Catalogs['known']) {
    this.#known = known
  }

  node(node: LineageNode): void {
    this.nodes.set(node.id, node)
  }

  edge(from: string, to: string): void {
    this.edges.set(JSON.stringify([from, to]), { from, to })
  }

  sink(address: string): string {
    if (!this.nodes.has(address)) this.node({ ...DATASET, id: address, kind: 'sink', name: address })
    return address
  }

  table(name: TableName, home: Home): string {
    const id = tableId(name, home)
    if (this.nodes.has(id)) return id
    const catalog = this.#known.get(home.connection)
    const found = catalog?.get(tableKey(name))
    this.tables.set(id, { name, home })
    this.node({
      ...DATASET,
      id,
      kind: found?.isView ? 'view' : 'table',
      name: tableText(name),
      connection: home.connection,
      exists: catalog === undefined ? null : found !== undefined,
    })
    this.#beneath(id, found, home)
    return id
  }

  /** A view is shown together with its tables: both are correct, and users search for either. */
  #beneath(id: string, view: KnownTable | undefined, home: Home): void {
    for (const name of view?.reads ?? []) this.edge(this.table(name, home), id)
  }
}

const DATASET = { connection: null, pipelineId: null, exists: null, error: null } as const

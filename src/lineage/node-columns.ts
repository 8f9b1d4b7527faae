import { parseSql } from '../guard/index.js'
import type { NodeColumn, NodeColumnRef, NodeColumns, QueryLineage } from '../model/lineage.js'
import { readerQuery, transformNames } from '../model/pipeline.js'
import type { TransformInfo } from '../ports/transforms.js'
import type { TableName } from '../sql/identifiers.js'
import type { Fleet, PipelineReading } from './fleet.js'
import { type Home, tableId } from './homes.js'
import { tableKey } from './known-tables.js'
import { lineageOf } from './query-lineage.js'
import { throughTransforms } from './through-transforms.js'

/** A longer view is not worth the wait; the query of a pipeline is always shorter. */
const LONGEST_VIEW = 256 * 1024

const NOTHING = { type: null, kind: null, sources: [], expression: null, through: [], reason: null } as const

/** The columns of nodes, computed on first use. */
export class ColumnReader {
  readonly #fleet: Fleet
  readonly #transforms: () => Promise<readonly TransformInfo[]>
  readonly #readings: ReadonlyMap<string, PipelineReading>
  readonly #writers = new Map<string, PipelineReading[]>()
  readonly #found = new Map<string, Promise<NodeColumns>>()

  constructor(fleet: Fleet, transforms: () => Promise<readonly TransformInfo[]>) {
    this.#fleet = fleet
    this.#transforms = transforms
    this.#readings = new Map(fleet.readings.map((reading) => [reading.nodeId, reading]))
    for (const reading of fleet.readings) {
      const { nodeId } = reading.target
      this.#writers.set(nodeId, [...(this.#writers.get(nodeId) ?? []), reading])
    }
  }

  of(node: string): Promise<NodeColumns> {
    const known = this.#found.get(node)
    if (known !== undefined) return known
    const found = this.#read(node)
    this.#found.set(node, found)
    return found
  }

  /** The table columns that a column comes from, beneath all views. Null: a view on the way cannot be analysed. */
  async base(sources: readonly NodeColumnRef[]): Promise<NodeColumnRef[] | null> {
    const found = new Map<string, NodeColumnRef>()
    for (const source of sources) {
      const beneath = await this.#beneath(source)
      if (beneath === null) return null
      for (const one of beneath) found.set(JSON.stringify([one.node, one.column]), one)
    }
    return [...found.values()]
  }

  async #beneath(source: NodeColumnRef): Promise<NodeColumnRef[] | null> {
    if (this.#fleet.nodes.get(source.node)?.kind !== 'view') return [source]
    const { columns } = await this.of(source.node)
    const column = columns.find(({ name }) => name === source.column)
    return column === undefined || column.kind === 'unresolved' ? null : this.base(column.sources)
  }

  async #read(node: string): Promise<NodeColumns> {
    const reading = this.#readings.get(node)
    if (reading !== undefined) return this.#ofPipeline(reading)
    const place = this.#fleet.tables.get(node)
    const table = place && this.#fleet.known.get(place.home.connection)?.get(tableKey(place.name))
    const given = (table?.columns ?? []).map(({ name, type }): NodeColumn => ({ ...NOTHING, name, type }))
    if (table?.isView) return this.#ofView(place!.home, table.definition ?? '', given)
    const writers = this.#writers.get(node) ?? []
    if (writers.length > 0) return this.#ofMart(writers, given)
    const open = table === undefined ? 'the columns of the table are not known' : null
    return { columns: given, open, shaping: [] }
  }

  async #ofPipeline({ pipeline, source, error }: PipelineReading): Promise<NodeColumns> {
    if (error !== null) return { columns: [], open: error.message, shaping: [] }
    const query = await this.#derive(readerQuery(pipeline), source)
    const names = transformNames(pipeline)
    if (names.length === 0) return query
    const columns = throughTransforms(query.columns, names, {
      known: await this.#transforms(),
      made: (name) => ({ ...NOTHING, name }),
    })
    return { ...query, columns }
  }

  async #ofView(home: Home, definition: string, given: readonly NodeColumn[]): Promise<NodeColumns> {
    if (definition.length > LONGEST_VIEW)
      return { columns: given, open: 'the view is too long to analyse', shaping: [] }
    const query = await this.#derive(definition, home)
    // A view may name its columns differently from its query; the order is the same.
    const isWhole = query.open === null && query.columns.length === given.length
    const columns = given.map((column, n): NodeColumn => {
      const derived = isWhole ? query.columns[n] : query.columns.find(({ name }) => name === column.name)
      const reason = query.open ?? 'the view cannot be analysed'
      return derived === undefined
        ? { ...column, kind: 'unresolved', reason }
        : { ...derived, name: column.name, type: column.type }
    })
    return { ...query, columns, open: null }
  }

  /** The columns that its pipelines write, and the table's other columns. */
  async #ofMart(writers: readonly PipelineReading[], given: readonly NodeColumn[]): Promise<NodeColumns> {
    const columns = new Map(given.map((column) => [column.name, column]))
    let open: string | null = null
    for (const { nodeId } of writers) {
      const written = await this.of(nodeId)
      open ??= written.open
      for (const { name } of written.columns) {
        const column = columns.get(name) ?? { ...NOTHING, name }
        const sources = [...column.sources, { node: nodeId, column: name }]
        columns.set(name, { ...column, kind: 'direct', sources })
      }
    }
    return { columns: [...columns.values()], open: given.length > 0 ? null : open, shaping: [] }
  }

  async #derive(sql: string, home: Home): Promise<NodeColumns> {
    const parsed = await parseSql(sql)
    const statement = parsed.kind === 'tree' ? parsed.statements[0]?.stmt : undefined
    if (statement === undefined) return { columns: [], open: 'the query cannot be parsed', shaping: [] }
    const known = this.#fleet.known.get(home.connection)
    const columnsOf = (schema: string, table: string) =>
      known?.get(tableKey({ schema, table }))?.columns.map(({ name }) => name) ?? null
    return toNodeColumns(lineageOf(sql, statement as never, columnsOf), home)
  }
}

function toNodeColumns({ columns, open, shaping }: QueryLineage, home: Home): NodeColumns {
  const at = (source: TableName) => tableId(source, home)
  return {
    open,
    columns: columns.map((column) => ({
      ...NOTHING,
      ...column,
      sources: column.sources.map((source) => ({ node: at(source), column: source.column })),
    })),
    shaping: shaping.map((source) => ({ node: at(source), column: source.column, uses: source.uses })),
  }
}

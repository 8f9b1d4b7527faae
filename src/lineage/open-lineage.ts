import type { ColumnKind, ColumnUse, NodeColumn, NodeColumns } from '../model/lineage.js'
import { readParentRun } from '../model/parent-run.js'
import { readerQuery } from '../model/pipeline.js'
import { kindOf, type TargetRules } from '../model/target.js'
import type { OpenLineageEvent, RunFacts } from '../ports/lineage.js'
import type { SinkKind } from '../ports/sink.js'
import { partsOf } from '../postgres/database-place.js'
import type { Fleet, PipelineReading } from './fleet.js'
import type { ColumnReader } from './node-columns.js'

const PRODUCER = 'urn:vitrina'
const SPEC = 'https://openlineage.io/spec'
/** A job namespace identifies the scheduler; ours is the product, in which pipelines have unique names. */
const NAMESPACE = 'vitrina'

/** The OpenLineage name of a dataset, the same for every producer. */
interface DatasetName {
  readonly namespace: string
  readonly name: string
}

/**
 * The definition of every pipeline, not what a run did: a JobEvent for each (OpenLineage 2-0-2). A pipeline whose query
 * cannot be parsed has no inputs and says so in its documentation.
 */
export async function jobEvents(
  fleet: Fleet,
  columns: ColumnReader,
  { targets, signal }: { readonly targets: TargetRules<SinkKind>; readonly signal: AbortSignal },
): Promise<OpenLineageEvent[]> {
  const naming = new Naming(fleet, targets)
  const events: OpenLineageEvent[] = []
  for (const reading of fleet.readings) {
    signal.throwIfAborted()
    events.push(await jobEvent(naming, reading, columns))
  }
  return events
}

async function jobEvent(
  naming: Naming,
  reading: PipelineReading,
  columns: ColumnReader,
): Promise<OpenLineageEvent> {
  const { pipeline, nodeId, target, error } = reading
  const query = readerQuery(pipeline)
  const inputs = naming.inputsOf(reading)
  return {
    eventTime: pipeline.updatedAt,
    producer: PRODUCER,
    schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/JobEvent`,
    job: {
      namespace: NAMESPACE,
      name: pipeline.name,
      facets: {
        jobType: facet('2-0-3', 'JobTypeJobFacet', {
          processingType: 'BATCH',
          integration: 'VITRINA',
          jobType: 'PIPELINE',
        }),
        sql: facet('1-1-0', 'SQLJobFacet', { query, dialect: 'postgres' }),
        documentation: facet('1-1-0', 'DocumentationJobFacet', {
          description: [pipeline.description, error?.message ?? ''].filter((text) => text !== '').join('\n'),
        }),
      },
    },
    inputs: await Promise.all(
      inputs.map(async (node) => ({ ...naming.of(node), facets: schemaOf(await columns.of(node)) })),
    ),
    outputs: [
      {
        ...naming.of(target.nodeId),
        facets: {
          ...schemaOf(await columns.of(target.nodeId)),
          columnLineage: columnLineage(naming, await columns.of(nodeId)),
        },
      },
    ],
  }
}

/** What a run did, with the datasets of its job. */
export function runEvent(job: OpenLineageEvent, facts: RunFacts): OpenLineageEvent {
  const { outputs, ...rest } = job as { outputs?: readonly OpenLineageEvent[] }
  return {
    ...rest,
    ...(outputs === undefined ? {} : { outputs: outputs.map((output) => withStatistics(output, facts)) }),
    eventTime: facts.at,
    eventType: facts.type,
    schemaURL: `${SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent`,
    run: { runId: facts.runId, facets: runFacets(facts) },
  }
}

/** If the lineage of a pipeline cannot be read, its runs are still reported. */
export function bareJob(name: string): OpenLineageEvent {
  return { producer: PRODUCER, job: { namespace: NAMESPACE, name, facets: {} }, inputs: [], outputs: [] }
}

function withStatistics(output: OpenLineageEvent, { type, rowsWritten }: RunFacts): OpenLineageEvent {
  if (type === 'START') return output
  const outputStatistics = facet('1-0-2', 'OutputStatisticsOutputDatasetFacet', { rowCount: rowsWritten })
  return { ...output, outputFacets: { outputStatistics } }
}

function runFacets({ parent: written, error }: RunFacts) {
  const parent = written === null ? null : readParentRun(written)
  return {
    ...(parent === null
      ? {}
      : {
          parent: facet('1-2-0', 'ParentRunFacet', {
            run: { runId: parent.runId },
            job: { namespace: parent.namespace, name: parent.name },
          }),
        }),
    ...(error === null
      ? {}
      : {
          errorMessage: facet('1-0-1', 'ErrorMessageRunFacet', {
            message: error,
            programmingLanguage: 'SQL',
          }),
        }),
  }
}

function facet(version: string, name: string, body: object) {
  return { _producer: PRODUCER, _schemaURL: `${SPEC}/facets/${version}/${name}.json#/$defs/${name}`, ...body }
}

function schemaOf({ columns }: NodeColumns) {
  if (columns.length === 0) return {}
  const fields = columns.map(({ name, type }) => ({ name, ...(type === null ? {} : { type }) }))
  return { schema: facet('1-1-1', 'SchemaDatasetFacet', { fields }) }
}

const SUBTYPES: Partial<Record<ColumnKind, string>> = {
  direct: 'IDENTITY',
  aggregate: 'AGGREGATION',
}
const USES: Readonly<Record<ColumnUse, string>> = {
  join: 'JOIN',
  filter: 'FILTER',
  group: 'GROUP_BY',
  sort: 'SORT',
}

/** Uncertain columns are left out: a missing source is better than a wrong one. */
function columnLineage(naming: Naming, { columns, shaping }: NodeColumns) {
  const known = columns.filter(({ kind }) => kind !== 'unresolved' && kind !== 'opaque')
  return facet('1-2-0', 'ColumnLineageDatasetFacet', {
    fields: Object.fromEntries(
      known.map((column) => [column.name, { inputFields: inputFields(naming, column) }]),
    ),
    dataset: shaping.map(({ node, column, uses }) => ({
      ...naming.of(node),
      field: column,
      transformations: uses.map((use) => transformation('INDIRECT', USES[use], '')),
    })),
  })
}

function inputFields(naming: Naming, { kind, sources, expression, through }: NodeColumn) {
  const text = [expression ?? '', ...through.map((name) => `through ${name}()`)].filter((text) => text !== '')
  const how = transformation('DIRECT', SUBTYPES[kind ?? 'direct'] ?? 'TRANSFORMATION', text.join(', '))
  return sources.map(({ node, column }) => ({ ...naming.of(node), field: column, transformations: [how] }))
}

function transformation(type: 'DIRECT' | 'INDIRECT', subtype: string, description: string) {
  return { type, subtype, description, masking: false }
}

/** Names as the specification requires: the server as namespace, without credentials. */
class Naming {
  readonly #fleet: Fleet
  readonly #targets: TargetRules<SinkKind>
  readonly #inputs = new Map<string, string[]>()

  constructor(fleet: Fleet, targets: TargetRules<SinkKind>) {
    this.#fleet = fleet
    this.#targets = targets
    for (const { from, to } of fleet.edges) this.#inputs.set(to, [...(this.#inputs.get(to) ?? []), from])
  }

  inputsOf({ nodeId }: PipelineReading): readonly string[] {
    return this.#inputs.get(nodeId) ?? []
  }

  of(node: string): DatasetName {
    const place = this.#fleet.tables.get(node)
    if (place === undefined) return this.#sink(node)
    const { name, home } = place
    const path = `${name.schema}.${name.table}`
    if (home.url === null) return { namespace: `postgres://${home.connection}`, name: path }
    const { host, port, database } = partsOf(home.url)
    return { namespace: `postgres://${host}:${port}`, name: `${database}.${path}` }
  }

  #sink(address: string): DatasetName {
    const found = kindOf(address, this.#targets)
    const named = found?.kind.datasetName?.(found.name) ?? null
    // Not configured here: only the prefix of the server is known.
    return named ?? { namespace: address.split(':')[0]!, name: address.slice(address.indexOf(':') + 1) }
  }
}

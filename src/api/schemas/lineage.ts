import { z } from 'zod'
import {
  COLUMN_KINDS,
  COLUMN_USES,
  type LineageGraph,
  NODE_KINDS,
  type NodeColumn,
  type NodeColumns,
  type PipelineLineage,
  type ShownNode,
} from '../../model/lineage.js'
import { LINEAGE_EXAMPLE, OPEN_LINEAGE_EXAMPLE, PIPELINE_LINEAGE_EXAMPLE } from './lineage-examples.js'

/** Longer than any chain of marts. */
const MOST_HOPS = 9

function hops(what: string) {
  return z
    .string()
    .regex(/^[0-9]$/, `must be a whole number from 0 to ${MOST_HOPS}`)
    .transform(Number)
    .pipe(z.int().min(0).max(MOST_HOPS))
    .default(1)
    .describe(what)
}

export const lineageQuery = z.strictObject({
  node: z
    .string()
    .min(1)
    .max(600)
    .optional()
    .describe('The id of a node, or pipeline:<name>. Absent: the whole graph.'),
  up: hops('How many pipelines and views to follow towards the sources.'),
  down: hops('How many to follow towards the marts.'),
  level: z.enum(['table', 'column']).default('table').describe('column: with the columns of every node.'),
})

export const openLineageQuery = z.strictObject({
  pipeline: z.string().optional().meta({ format: 'uuid' }).describe('Only this pipeline, by its id.'),
})

const text = (what: string) => z.string().describe(what)
const maybe = (what: string) => z.string().nullable().describe(what)

const problem = z.object({
  code: text('A stable code for programs.'),
  message: text('The facts in a sentence.'),
  hint: text('How to fix it.'),
})
const problems = z
  .array(problem.extend({ connection: maybe('The database it refers to; null: the main one.') }))
  .describe('Databases that could not be queried: their columns are unknown.')

const columnRef = z.object({ node: text('The id of a node.'), column: text('One of its columns.') })
const sources = z.array(columnRef)

const column = z.object({
  name: text('The name of the column.'),
  type: maybe('Its PostgreSQL type; null: unknown.'),
  kind: z
    .enum(COLUMN_KINDS)
    .nullable()
    .describe(
      'How it is derived: direct, expression, aggregate, constant, transform (keeps its name through functions), opaque (created by a function), unresolved (uncertain). Null: not computed here.',
    ),
  sources: sources.describe('Every column that contributes to its value; incomplete if it is unresolved.'),
  expression: maybe('How it is computed, with the names of the sources; null: copied.'),
  through: z.array(z.string()).describe('The registered functions it passes through.'),
  reason: maybe('Why it is unresolved.'),
})

const open = maybe('Why there may be more columns; null: the list is complete.')
const shaping = z
  .array(columnRef.extend({ uses: z.array(z.enum(COLUMN_USES)).describe('Its role there.') }))
  .describe('Columns that determine the rows and their order.')

const node = z.object({
  id: text('Its id: content.film_work, content.film_work@connection, es:films, pipeline:<id>.'),
  kind: z.enum(NODE_KINDS).describe('table, view, sink (a mart that is not a table) or pipeline.'),
  name: text('The display name.'),
  connection: maybe('Its database; null: the main one, or none.'),
  pipeline_id: maybe('Of a pipeline.'),
  exists: z.boolean().nullable().describe('false: the table does not exist yet. null: could not be checked.'),
  error: problem.nullable().describe('Why the query of a pipeline cannot be analyzed.'),
  hidden_up: z.number().describe('Neighbours towards the sources that are not in this response.'),
  hidden_down: z.number().describe('Neighbours towards the marts that are not in this response.'),
  columns: z.array(column).nullable().describe('Null at the table level.'),
  open,
  shaping,
})

export const lineageWire = z
  .object({
    focus: maybe('The requested node, by its id.'),
    level: z
      .enum(['table', 'column'])
      .describe(
        'The level of this response; table although column was requested if there are over 150 nodes.',
      ),
    nodes: z.array(node).describe('Tables, views, marts and the pipelines between them.'),
    edges: z
      .array(z.object({ from: text('The source node.'), to: text('The target node.') }))
      .describe('The edges: which nodes each node reads or writes.'),
    total_nodes: z.number().describe('The total number of nodes.'),
    problems,
  })
  .meta({ examples: [LINEAGE_EXAMPLE] })

export const pipelineLineageWire = z
  .object({
    pipeline_id: text('The id of the pipeline.'),
    name: text('Its name.'),
    target: text('What it writes, as the id of a node.'),
    reads: z
      .array(
        z.object({
          node: text('The id of a node.'),
          kind: z.enum(NODE_KINDS).describe('table or view.'),
          via: maybe('The view that leads there; null: the query names it.'),
        }),
      )
      .describe('The tables and views that the query refers to, and those behind its views.'),
    error: problem.nullable().describe('Why the query cannot be analyzed.'),
    open,
    columns: z
      .array(
        column.extend({
          base: sources
            .nullable()
            .describe(
              'The same with every view resolved to its tables. Null: a view on the way cannot be analyzed.',
            ),
        }),
      )
      .describe('What it writes.'),
    shaping,
    problems,
  })
  .meta({ examples: [PIPELINE_LINEAGE_EXAMPLE] })

/** The specification is theirs: https://openlineage.io/spec/2-0-2/OpenLineage.json. */
export const openLineageWire = z
  .array(z.record(z.string(), z.unknown()))
  .describe('An OpenLineage 2-0-2 JobEvent for each pipeline, with the facets sql, schema and columnLineage.')
  .meta({ examples: [OPEN_LINEAGE_EXAMPLE] })

export function lineageToWire({ focus, level, totalNodes, nodes, edges, problems }: LineageGraph) {
  return {
    focus,
    level,
    nodes: nodes.map(nodeToWire),
    edges: [...edges],
    total_nodes: totalNodes,
    problems: [...problems],
  }
}

function nodeToWire({ id, kind, name, connection, pipelineId, exists, error, ...rest }: ShownNode) {
  return {
    id,
    kind,
    name,
    connection,
    pipeline_id: pipelineId,
    exists,
    error,
    hidden_up: rest.hiddenUp,
    hidden_down: rest.hiddenDown,
    columns: rest.columns?.columns.map(columnToWire) ?? null,
    open: rest.columns?.open ?? null,
    shaping: shapingToWire(rest.columns?.shaping ?? []),
  }
}

export function pipelineLineageToWire({ pipelineId, name, target, error, ...rest }: PipelineLineage) {
  return {
    pipeline_id: pipelineId,
    name,
    target,
    reads: [...rest.reads],
    error,
    open: rest.open,
    columns: rest.columns.map(({ base, ...one }) => ({
      ...columnToWire(one),
      base: base === null ? null : [...base],
    })),
    shaping: shapingToWire(rest.shaping),
    problems: [...rest.problems],
  }
}

/** In reading order: the name first. */
function columnToWire({ name, type, kind, sources, expression, through, reason }: NodeColumn) {
  return { name, type, kind, sources: [...sources], expression, through: [...through], reason }
}

function shapingToWire(shaping: NodeColumns['shaping']) {
  return shaping.map(({ node, column, uses }) => ({ node, column, uses: [...uses] }))
}

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

/** Further than any chain of marts goes. */
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
    .describe('The id of a node, or pipeline:<name>. Not given: the whole fleet.'),
  up: hops('How many pipelines and views to go through towards the sources.'),
  down: hops('How many to go through towards the marts.'),
  level: z.enum(['table', 'column']).default('table').describe('column: with the columns of every node.'),
})

export const openLineageQuery = z.strictObject({
  pipeline: z.string().optional().meta({ format: 'uuid' }).describe('Only this pipeline, by its id.'),
})

const text = (what: string) => z.string().describe(what)
const maybe = (what: string) => z.string().nullable().describe(what)

const problem = z.object({
  code: text('What is wrong, as a name that does not change.'),
  message: text('The facts in a sentence.'),
  hint: text('What to do about it.'),
})
const problems = z
  .array(problem.extend({ connection: maybe('The database that it is about; null: the main one.') }))
  .describe('Databases that could not be asked: their columns are not known.')

const columnRef = z.object({ node: text('The id of a node.'), column: text('One of its columns.') })
const sources = z.array(columnRef)

const column = z.object({
  name: text('The name of the column.'),
  type: maybe('Its type as PostgreSQL writes it; null: not known.'),
  kind: z
    .enum(COLUMN_KINDS)
    .nullable()
    .describe(
      'How it came about: direct, expression, aggregate, constant, transform (kept its name through functions), opaque (made by a function), unresolved (not known for certain). Null: nothing here computes it.',
    ),
  sources: sources.describe('Every column whose value goes into it; not complete when it is unresolved.'),
  expression: maybe('How it is computed, with the names of the sources; null: taken as it is.'),
  through: z.array(z.string()).describe('The registered functions that it went through.'),
  reason: maybe('Why it is unresolved.'),
})

const open = maybe('Why there may be more columns; null: these are all.')
const shaping = z
  .array(columnRef.extend({ uses: z.array(z.enum(COLUMN_USES)).describe('What it does there.') }))
  .describe('Columns that decide which rows there are, and in what order.')

const node = z.object({
  id: text('Its id: content.film_work, content.film_work@connection, es:films, pipeline:<id>.'),
  kind: z.enum(NODE_KINDS).describe('table, view, sink (a mart that is no table) or pipeline.'),
  name: text('What people call it.'),
  connection: maybe('The database it lies in; null: the main one, or none.'),
  pipeline_id: maybe('Of a pipeline.'),
  exists: z.boolean().nullable().describe('false: no such table yet. null: nobody could look.'),
  error: problem.nullable().describe('Why the query of a pipeline cannot be followed.'),
  hidden_up: z.number().describe('Neighbours towards the sources that this answer leaves out.'),
  hidden_down: z.number().describe('Neighbours towards the marts that this answer leaves out.'),
  columns: z.array(column).nullable().describe('Null at the level of tables.'),
  open,
  shaping,
})

export const lineageWire = z
  .object({
    focus: maybe('The node that was asked for, by its id.'),
    level: z
      .enum(['table', 'column'])
      .describe('What this answer tells; table although column was asked for when there are over 150 nodes.'),
    nodes: z.array(node).describe('Tables, views, marts and the pipelines between them.'),
    edges: z
      .array(z.object({ from: text('Where data comes from.'), to: text('Where it goes.') }))
      .describe('Who reads and writes what.'),
    total_nodes: z.number().describe('How many nodes there are in all.'),
    problems,
  })
  .meta({ examples: [LINEAGE_EXAMPLE] })

export const pipelineLineageWire = z
  .object({
    pipeline_id: text('The id of the pipeline.'),
    name: text('Its name.'),
    target: text('What it fills, as the id of a node.'),
    reads: z
      .array(
        z.object({
          node: text('The id of a node.'),
          kind: z.enum(NODE_KINDS).describe('table or view.'),
          via: maybe('The view that leads there; null: the query names it.'),
        }),
      )
      .describe('What the query names, and what the views among it lead to.'),
    error: problem.nullable().describe('Why the query cannot be followed.'),
    open,
    columns: z
      .array(
        column.extend({
          base: sources
            .nullable()
            .describe('The same beneath all views. Null: a view on the way cannot be followed.'),
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
  .describe(
    'A JobEvent of OpenLineage 2-0-2 for each pipeline, with the facets sql, schema and columnLineage.',
  )
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

/** In an order that people read: the name first. */
function columnToWire({ name, type, kind, sources, expression, through, reason }: NodeColumn) {
  return { name, type, kind, sources: [...sources], expression, through: [...through], reason }
}

function shapingToWire(shaping: NodeColumns['shaping']) {
  return shaping.map(({ node, column, uses }) => ({ node, column, uses: [...uses] }))
}

import type { Pipeline } from '../model/pipeline.js'
import type { Finding } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import { isSpread } from '../sources/postgres/describe.js'
import { asRelation, columnList } from '../sql/selection.js'
import type { Examined } from '../transfers/examine.js'
import { whyOneStream } from '../transfers/parts/one-stream.js'
import type { InspectedPipeline } from './inspected-pipeline.js'

/** Valid configurations that may not do what their owner expects. */
export function warningsFor(pipeline: Pipeline, examined: InspectedPipeline): Finding[] {
  return [
    ...indexWarnings(pipeline, examined),
    ...guaranteeWarnings(pipeline, examined),
    ...typeWarnings(examined),
  ]
}

function indexWarnings(pipeline: Pipeline, { paged, facts, order }: Examined): Finding[] {
  if (paged || pipeline.mode !== 'incremental' || pipeline.capture !== 'key' || isSpread(facts)) return []
  const columns = columnList(order.columns)
  return [
    warning({
      code: 'INDEX_MISSING',
      field: 'incremental_key',
      message: `No index supports the order (${columns}): every run reads all of ${facts.relations.join(', ')}.`,
      hint: `CREATE INDEX ON ${facts.relations[0]} (${columns})`,
    }),
  ]
}

function guaranteeWarnings(pipeline: Pipeline, { guarantee, facts }: Examined): Finding[] {
  if (guarantee !== 'bounded') return []
  if (isSpread(facts)) {
    return [
      warning({
        code: 'GUARANTEE_BOUNDED',
        field: pipeline.capture === 'xmin' ? 'capture' : 'incremental_key',
        message:
          'Each row of the mart is computed from several source rows: a source row that is deleted, or moves to another group, is not detected.',
        hint: 'Choose capture "wal", which sees both; set deletes to "sweep", which recomputes everything at the end of a run; or run the pipeline in full from time to time.',
      }),
    ]
  }
  if (facts.watchesClock) {
    return [
      warning({
        code: 'GUARANTEE_BOUNDED',
        field: 'source_query',
        message:
          'Whether a row is returned depends on the current time: a row that appears without being changed is not detected.',
        hint: 'Remove the time from the conditions, or run the pipeline in full from time to time.',
      }),
    ]
  }
  return [
    warning({
      code: 'GUARANTEE_BOUNDED',
      field: 'incremental_key',
      message:
        'The order of these keys does not follow the order of commits: a row committed late with a lower key is missed.',
      hint: 'Use a key set by the database (a timestamp or a sequence), or capture "xmin".',
    }),
  ]
}

/** Assignment may round, truncate or convert; the owner of the table should know. */
function typeWarnings({ target }: Pick<InspectedPipeline, 'target'>): Finding[] {
  if (target === null) return []
  return target.columns.flatMap((column, index) =>
    column.type === target.types[index]
      ? []
      : [
          warning({
            code: 'TYPE_DIFFERS',
            field: 'target_table',
            message: `Column "${column.name}" is ${column.type} in the query and ${target.types[index]} in the table: values are converted on write.`,
            hint: `Write "${column.name}"::${target.types[index]} in the query to see the converted values.`,
          }),
        ],
  )
}

/** The pipeline asks for parts, and its runs are one stream. */
export async function partWarnings(
  source: Session,
  pipeline: Pipeline,
  examined: InspectedPipeline,
): Promise<Finding[]> {
  if (pipeline.parallelism === 1) return []
  const isParted = examined.sink === null || examined.sink.isParted
  const reason = await whyOneStream(source, { pipeline, examined, isParted })
  if (reason === null) return []
  return [
    warning({
      code: 'ONE_STREAM',
      field: 'parallelism',
      message: `Runs are not cut into parts: ${reason}.`,
      hint: 'Set parallelism to 1, or see the guide to parallel runs for what can be cut.',
    }),
  ]
}

/** With a key that is not unique, rows of the mart replace each other. Checked for two seconds at most. */
export async function keyWarnings(source: Session, { query, key, facts }: Examined): Promise<Finding[]> {
  const columns = columnList(key)
  if (facts.aggregates) return []
  await source.run("SET statement_timeout = '2s'")
  const found = await source
    .rows(`SELECT 1 AS found FROM ${asRelation(query)} GROUP BY ${columns} HAVING count(*) > 1 LIMIT 1`)
    .catch(() => null)
  if (found === null)
    return [
      warning({
        code: 'KEY_UNCHECKED',
        field: 'key_columns',
        message: `Could not determine within 2 s whether (${columns}) is unique.`,
        hint: 'A unique index on these columns in the source would prove it.',
      }),
    ]
  return found.length === 0
    ? []
    : [
        warning({
          code: 'KEY_NOT_UNIQUE',
          field: 'key_columns',
          message: `The query returns several rows with the same (${columns}): the last row of each batch wins, the others are counted as duplicates.`,
          hint: 'Choose key_columns that identify a row, or aggregate in the query.',
        }),
      ]
}

function warning(finding: Omit<Finding, 'position'>): Finding {
  return { ...finding, position: null }
}

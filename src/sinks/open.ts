import { VitrinaError } from '../model/errors.js'
import { finalTarget, isReplaced, type Pipeline } from '../model/pipeline.js'
import type { Sink, SinkKind, SinkMart } from '../ports/sink.js'
import { type Column, requireColumn } from '../sql/selection.js'

/** A sink for the mart of a pipeline, and the columns that identify a row there. */
export interface OpenedSink {
  readonly sink: Sink
  readonly key: readonly string[]
}

/** Stops a sink: the abort signal and the lease. */
export type Hold = Pick<SinkMart, 'signal' | 'requireLease'>

/** Opens the sink of a pipeline's target for rows with these columns, or throws what is missing. */
export async function openSink(
  kind: SinkKind,
  pipeline: Pipeline,
  columns: readonly Column[],
  hold: Hold,
): Promise<OpenedSink> {
  const missing = await kind.missing()
  if (missing !== null) throw new VitrinaError('SINK_MISSING', missing.message, missing.hint)
  const key = pipeline.keyColumns.length > 0 ? pipeline.keyColumns : [columns[0]!.name]
  for (const name of key) requireColumn(columns, name, 'key_columns')
  const sink = await kind.open({
    name: finalTarget(pipeline).slice(kind.prefix.length),
    columns,
    key,
    options: optionsOf(kind, pipeline),
    brake: pipeline.deleteBrake,
    replaces: isReplaced(pipeline),
    ...hold,
  })
  return { sink, key }
}

function optionsOf(kind: SinkKind, pipeline: Pipeline): Readonly<Record<string, unknown>> {
  const read = kind.readOptions(pipeline.targetOptions)
  if ('options' in read) return read.options
  throw new VitrinaError(
    'PIPELINE_INVALID',
    `target_options of ${finalTarget(pipeline)}: ${read.problems.map(({ field, message }) => `${field} ${message}`).join('; ')}.`,
    'Correct target_options.',
    { field: 'target_options' },
  )
}

import { VitrinaError } from '../model/errors.js'
import { finalTarget, isReplaced, type Pipeline } from '../model/pipeline.js'
import type { MartDefinition, Sink, SinkKind } from '../ports/sink.js'
import { requireColumn } from '../sql/selection.js'

/** A sink for the mart of a pipeline, and the columns that identify a row there. */
export interface OpenedSink {
  readonly sink: Sink
  readonly key: readonly string[]
}

/** What differs between two sinks that are opened for the same pipeline. */
type Opening = Pick<MartDefinition, 'columns' | 'signal' | 'requireLease'>

/** Opens the target of a pipeline, or throws what is missing for it. */
export async function openSink(
  kind: SinkKind,
  pipeline: Pipeline,
  { columns, ...opening }: Opening,
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
    ...opening,
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

import { VitrinaError } from '../model/errors.js'
import type { Sink, SinkKind, SinkMart } from '../ports/sink.js'

export interface SinkWish extends Omit<SinkMart, 'name' | 'options'> {
  /** The address as the pipeline has it, and its target_options as they were written. */
  readonly target: string
  readonly rawOptions: Readonly<Record<string, unknown>>
}

/** Opens a sink, or says what is missing for it. */
export async function openSink(kind: SinkKind, { target, rawOptions, ...mart }: SinkWish): Promise<Sink> {
  const missing = await kind.missing()
  if (missing !== null) throw new VitrinaError('SINK_MISSING', missing.message, missing.hint)
  const read = kind.readOptions(rawOptions)
  if ('problems' in read) {
    throw new VitrinaError(
      'PIPELINE_INVALID',
      `target_options of ${target}: ${read.problems.map(({ field, message }) => `${field} ${message}`).join('; ')}.`,
      'Correct target_options.',
    )
  }
  return kind.open({ ...mart, name: target.slice(kind.prefix.length), options: read.options })
}

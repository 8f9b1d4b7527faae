import { overOf } from '../../model/check.js'
import { VitrinaError } from '../../model/errors.js'
import { finalTarget, type Pipeline } from '../../model/pipeline.js'
import type { Session } from '../../postgres/session.js'
import type { Examined } from '../examine.js'
import { whyOneStream } from './one-stream.js'

interface Executable {
  readonly pipeline: Pipeline
  readonly examined: Examined
  /** The languages of its functions. */
  readonly languages: readonly string[]
}

/** Throws ENGINE_UNSUPPORTED if the engine of the pipeline cannot execute it. */
export async function requireSupported(
  source: Session,
  { pipeline, examined, languages }: Executable,
): Promise<void> {
  if (pipeline.engine === 'local') return
  if (languages.some((language) => language !== 'python'))
    throw unsupported(
      'engine: spark runs Python functions, and a task of this pipeline is written in TypeScript.',
      'Set engine to local, or write the task in Python.',
    )
  const onRows = pipeline.checks.filter((check) => overOf(check) === 'batch').map(({ name }) => name)
  if (onRows.length > 0)
    throw unsupported(
      `engine: spark cannot evaluate checks of the rows of a batch: ${onRows.join(', ')}.`,
      'Set engine to local, or use checks over the mart.',
    )
  const reason = await whyOneStream(source, { pipeline, examined, isParted: true })
  if (reason !== null)
    throw unsupported(
      `engine: spark executes the parts of a run, and runs of this pipeline cannot be cut into parts: ${reason}.`,
      'Set engine to local, or see the guide to Spark for what can be cut.',
    )
}

/** Throws ENGINE_UNSUPPORTED: parts are written into tables of PostgreSQL only. */
export function requireLocal(pipeline: Pipeline): void {
  if (pipeline.engine === 'local') return
  throw unsupported(
    `engine: spark writes tables of PostgreSQL, and the target of this pipeline is ${finalTarget(pipeline)}.`,
    'Set engine to local, or choose a table as target.',
  )
}

function unsupported(message: string, hint: string): VitrinaError {
  return new VitrinaError('ENGINE_UNSUPPORTED', message, hint, { field: 'engine' })
}

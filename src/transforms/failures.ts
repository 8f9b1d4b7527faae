import { didYouMean } from '../config/did-you-mean.js'
import { VitrinaError } from '../model/errors.js'
import type { HostProblem, Raised, RefusedResult } from './host.js'

/** Limits for user code. */
export interface Limits {
  readonly timeoutMs: number
  readonly memoryMb: number
}

export function raised(answer: Raised, columns: readonly string[], limits: Limits): VitrinaError {
  const { transform, line, where, kind } = answer
  if (kind !== 'raised') return ended(transform, { kind, line }, limits)
  const place = where === null ? '' : ` at ${where}`
  return new VitrinaError(
    'TRANSFORM_FAILED',
    `Transform "${transform}" failed${place}: ${line}.${sampleOf(answer)}`,
    `${hintFor(answer, columns)} The traceback is in the run's log.`,
  )
}

/** The result cannot be written to the mart. */
export function resultRefused(answer: RefusedResult): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_RESULT',
    `The result of transform "${answer.transform}" cannot be written: ${answer.what}.${sampleOf(answer)}`,
    answer.hint ?? 'Return values of the types listed in docs/guides/python-tasks.md.',
  )
}

/** The host ended in the middle of a batch. */
export function died(transform: string, how: string): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `The host of transform "${transform}" ${how} in the middle of a batch.`,
    'A transform must return rows or raise an exception; it must not end its process. Its last output is in the log of the run.',
  )
}

export function tookTooLong(transform: string, { timeoutMs }: Limits): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `Transform "${transform}" exceeded the limit of ${timeoutMs / 1000} s for one batch and was killed.`,
    'Look for an endless loop or a wait, reduce batch_size, or raise VITRINA_TASK_TIMEOUT_SECONDS.',
  )
}

export function tookTooMuch(transform: string, { memoryMb }: Limits): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `Transform "${transform}" used more than ${memoryMb} MB of memory and was killed.`,
    'Reduce batch_size, keep less data between batches, or raise VITRINA_TASK_MEMORY_MB.',
  )
}

export function notStarted(language: string, how: string): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    `The host of ${language} transforms ${how}.`,
    'Run "vitrina doctor"; the output of the host is in the log.',
  )
}

/** A file that loaded when the tasks were listed, but no longer does. */
export function notLoaded(file: string, problem: Pick<HostProblem, 'line'>): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_UNKNOWN',
    `${file} can no longer be loaded: ${problem.line}.`,
    'Fix the file; "vitrina tasks list" shows the error.',
  )
}

function ended(
  transform: string,
  { kind, line }: Pick<HostProblem, 'kind'> & { readonly line: string },
  limits: Limits,
): VitrinaError {
  if (kind === 'memory') return tookTooMuch(transform, limits)
  if (kind === 'process')
    return new VitrinaError(
      'TRANSFORM_KILLED',
      `Transform "${transform}" tried to start or end a process and was killed: ${line}.`,
      'A transform may use threads, but must not start or end processes.',
    )
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `Transform "${transform}" ended its host: ${line}.`,
    'Return rows or raise an exception instead of exiting.',
  )
}

function sampleOf({ row, sample }: { readonly row: number | null; readonly sample: string | null }): string {
  if (sample === null) return ''
  return row === null ? ` The first row of the batch: ${sample}` : ` Row ${row + 1} of the batch: ${sample}`
}

function hintFor({ key, line }: Raised, columns: readonly string[]): string {
  if (key !== null && !columns.includes(key))
    return `The rows have the columns ${columns.slice(0, 30).join(', ')}.${didYouMean(key, columns)}`
  if (line.includes('NoneType') || line.includes('of null'))
    return 'A value is NULL: the function must handle missing values.'
  return 'Fix the function; the next run uses the changed file.'
}

import { didYouMean } from '../config/suggest.js'
import { VitrinaError } from '../model/errors.js'
import type { Problem, Raised, Refused } from './host.js'

/** How much code of a user may take. */
export interface Limits {
  readonly timeoutMs: number
  readonly memoryMb: number
}

export function raised(answer: Raised, columns: readonly string[], limits: Limits): VitrinaError {
  const { transform, line, where, kind } = answer
  if (kind !== 'raised') return ended(transform, kind, line, limits)
  const place = where === null ? '' : ` at ${where}`
  return new VitrinaError(
    'TRANSFORM_FAILED',
    `Transform "${transform}" failed${place}: ${line}.${sampleOf(answer)}`,
    `${hintFor(answer, columns)} The traceback is in the run's log.`,
  )
}

/** A result that is not rows of the mart. */
export function refused(answer: Refused): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_RESULT',
    `What transform "${answer.transform}" returned cannot be written: ${answer.what}.${sampleOf(answer)}`,
    answer.hint ?? 'Return values of the types that docs/guides/python-tasks.md lists.',
  )
}

/** The host is gone in the middle of a batch. */
export function died(transform: string, how: string): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `The host of transform "${transform}" ${how} in the middle of a batch.`,
    'A transform returns rows or raises; it must not end its process. What it said last is in the log of the run.',
  )
}

export function tookTooLong(transform: string, { timeoutMs }: Limits): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `Transform "${transform}" worked on one batch for more than ${timeoutMs / 1000} s and was killed.`,
    'Look for an endless loop or a wait in it, make batch_size smaller, or raise VITRINA_TASK_TIMEOUT_SECONDS.',
  )
}

export function tookTooMuch(transform: string, { memoryMb }: Limits): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_KILLED',
    `Transform "${transform}" took more than ${memoryMb} MB of memory and was killed.`,
    'Make batch_size smaller, keep less between batches, or raise VITRINA_TASK_MEMORY_MB.',
  )
}

export function notStarted(language: string, how: string): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    `The host of ${language} transforms ${how}.`,
    'Run "vitrina doctor"; what it printed is in the log.',
  )
}

/** A file that was fine when it was listed, and is not any more. */
export function notLoaded(file: string, problem: Pick<Problem, 'line'>): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_UNKNOWN',
    `${file} cannot be loaded any more: ${problem.line}.`,
    'Mend the file; "vitrina tasks list" shows what is wrong with it.',
  )
}

function ended(transform: string, kind: Problem['kind'], line: string, limits: Limits): VitrinaError {
  if (kind === 'memory') return tookTooMuch(transform, limits)
  if (kind === 'process')
    return new VitrinaError(
      'TRANSFORM_KILLED',
      `Transform "${transform}" tried to start or to end a process and was killed: ${line}.`,
      'A transform works with its rows only; threads are allowed, processes are not.',
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
    return 'A value is NULL there, which arrives as none: the function has to expect it.'
  return 'Mend the function; the next run takes the changed file.'
}

import { type ErrorClass, VitrinaError } from '../model/errors.js'

/** R3.6: three attempts. */
export const MAX_ATTEMPTS = 3
export const RETRY_WAITS_MS: readonly number[] = [1_000, 2_000, 4_000]

/** This runner must not end the run or the part: the run itself has not failed. */
export const LETS_GO: ReadonlySet<ErrorClass> = new Set(['stale', 'lost', 'release'])

/** The wait after the n-th failed attempt, with some jitter, so that two runners do not collide again. */
export function waitBeforeRetry(failures: number, waitsMs: readonly number[]): number {
  const wait = waitsMs[Math.min(failures, waitsMs.length) - 1]!
  return Math.round(wait * (1 + Math.random() * 0.1))
}

export function toRunError(error: unknown): VitrinaError {
  if (error instanceof VitrinaError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new VitrinaError('INTERNAL', message, 'Read the log of the runner for earlier errors.', {
    cause: error,
  })
}

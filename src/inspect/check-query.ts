import type { Rejection, ServerAccepted, SqlGuard, TextAccepted } from '../guard/index.js'
import { VitrinaError } from '../model/errors.js'
import { type Pipeline, readerQuery } from '../model/pipeline.js'
import { inspectionError } from '../postgres/errors.js'
import type { InspectionSessions } from './inspection-sessions.js'

interface Checkers {
  readonly guard: SqlGuard
  readonly sessions: InspectionSessions
}

/** What the guard decides about the query of a pipeline; while the source is down, about its text only. */
export async function checkQuery(
  { guard, sessions }: Checkers,
  pipeline: Pipeline,
  signal: AbortSignal,
): Promise<ServerAccepted | TextAccepted | Rejection> {
  const query = readerQuery(pipeline)
  return guard.check(query, sessions.forGuard(pipeline, signal)).catch((error) => {
    if (error instanceof VitrinaError && error.class === 'lost') return guard.check(query)
    throw inspectionError(error, 'The check of the source query', 'source')
  })
}

import { VitrinaError } from '../model/errors.js'
import type { ServerLog } from './server-log.js'

const OTHER_SERVER = 'Or set DATABASE_URL=postgres://… to use a PostgreSQL you already have.'

export interface FailureFacts {
  /** What to try first; the DATABASE_URL alternative is always added. */
  readonly remedy?: string
  readonly log?: ServerLog
  readonly cause?: unknown
}

export function embeddedFailed(what: string, facts: FailureFacts = {}): VitrinaError {
  const lines = facts.log?.tail() ?? ''
  const detail = lines === '' ? what : `${what}; the last lines of ${facts.log?.path}:\n${lines}`
  const remedy = facts.remedy ?? remedyFor(`${lines}\n${String(facts.cause ?? '')}`)
  const hint = remedy === '' ? OTHER_SERVER.replace('Or set', 'Set') : `${remedy} ${OTHER_SERVER}`
  return new VitrinaError('EMBEDDED_FAILED', detail, hint, { cause: facts.cause })
}

/** Turns system errors into one that a user can act on. */
export function asFailure(
  error: unknown,
  { home, what }: { readonly home: string; readonly what: string },
): VitrinaError {
  if (error instanceof VitrinaError) return error
  const reason = error instanceof Error ? error.message : String(error)
  return embeddedFailed(`the embedded PostgreSQL in ${home} ${what}: ${reason}`, {
    cause: error,
  })
}

function remedyFor(text: string): string {
  if (/cannot run /.test(text))
    return 'The binaries need glibc and a file system that allows programs to run.'
  if (/ENOSPC|EDQUOT|No space left/.test(text)) return 'Free some disk space and start again.'
  if (/EACCES|EPERM|Permission denied|wrong ownership/.test(text))
    return 'Start it as the user who created the folder, or choose another folder.'
  if (/EROFS/.test(text)) return 'Choose a writable folder.'
  return ''
}

import type { Role } from '../../model/access.js'
import { type ErrorCode, VitrinaError } from '../../model/errors.js'
import type { QuarantinedRow } from '../../model/history.js'
import type { Finding, Validation } from '../../model/validation.js'

/*
 * Checking a query executes parts of it, and PostgreSQL's messages quote values: "invalid input syntax for type
 * integer: …" with a value of the source. So do task functions, which a comparison executes: their errors end with the
 * first row of the batch. Users who may preview rows may read them. A viewer gets the code and the SQLSTATE.
 */

const HINT = 'Use a token with the role operator to see the message.'

/** Errors of the meta store and of the request itself, which quote what the caller sent. */
const OWN_WORDS: ReadonlySet<ErrorCode> = new Set([
  'REQUEST_INVALID',
  'TRANSITION_REFUSED',
  'PIPELINE_BUSY',
  'MIGRATION_MISSING',
])

/** Errors of task functions quote what a function raised, and a row of the batch. */
const OF_FUNCTIONS: ReadonlySet<ErrorCode> = new Set([
  'TRANSFORM_FAILED',
  'TRANSFORM_KILLED',
  'TRANSFORM_RESULT',
])

export function errorFor(role: Role | null, error: VitrinaError): VitrinaError {
  const { code, sqlstate, facts } = error
  if (role !== 'viewer') return error
  if (OF_FUNCTIONS.has(code)) return new VitrinaError(code, 'A task function failed.', HINT, { facts })
  const isQuoting = code === 'INTERNAL' || (sqlstate !== null && !OWN_WORDS.has(code))
  if (!isQuoting) return error
  const options = sqlstate === null ? { facts } : { facts, sqlstate }
  return new VitrinaError(code, sentence(sqlstate), HINT, options)
}

export function validationFor(role: Role, validation: Validation): Validation {
  if (role !== 'viewer') return validation
  const { errors, warnings, ...rest } = validation
  return { ...rest, errors: errors.map(withoutWords), warnings: warnings.map(withoutWords) }
}

/** The values are those of the source, and the reason quotes them. */
export interface ReadableRow extends Omit<QuarantinedRow, 'row'> {
  /** Null: the reader may not see it. */
  readonly row: QuarantinedRow['row'] | null
}

export function quarantinedFor(role: Role, row: QuarantinedRow): ReadableRow {
  if (role !== 'viewer') return row
  return { ...row, row: null, reason: reasonWithoutValues(row) }
}

function reasonWithoutValues({ check, sqlstate, settledAt, reason }: QuarantinedRow): string {
  if (settledAt !== null) return reason
  if (check !== null) return `Check "${check}" failed.`
  return sqlstate === null
    ? 'The target rejected the row.'
    : `The target rejected the row (SQLSTATE ${sqlstate}).`
}

function withoutWords(finding: Finding): Finding {
  const { sqlstate = null, code } = finding
  if (sqlstate === null && code !== 'INTERNAL') return finding
  return { ...finding, message: sentence(sqlstate), hint: HINT }
}

function sentence(sqlstate: string | null): string {
  return sqlstate === null
    ? 'The check failed unexpectedly.'
    : `PostgreSQL reported an error (SQLSTATE ${sqlstate}).`
}

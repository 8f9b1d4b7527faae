import type { CheckResult } from '../model/check.js'
import { VitrinaError } from '../model/errors.js'

/** Ends a batch or a run because of checks. The results are recorded after the batch was rolled back. */
export class CheckFailure extends VitrinaError {
  readonly results: readonly CheckResult[]

  constructor(error: VitrinaError, results: readonly CheckResult[]) {
    super(error.code, error.message, error.hint, { cause: error.cause, facts: error.facts })
    this.results = results
  }
}

/** The error of a run for results of which some end it. */
export function failureOf(fatal: readonly CheckResult[], target: string): VitrinaError {
  const [first] = fatal
  const more = fatal.length > 1 ? ` ${fatal.length - 1} more failed.` : ''
  const sample =
    first!.sample.length === 0 ? '' : ` First: ${first!.sample.map((key) => `(${key})`).join(', ')}.`
  const facts = {
    checks: fatal.map(({ name, failedRows, sample }) => ({ name, failed_rows: failedRows, sample })),
  }
  if (first!.status === 'error')
    return new VitrinaError(
      'CHECK_INVALID',
      `Check "${first!.name}" (${first!.type}) of ${target} cannot be evaluated: ${first!.message}${more}`,
      'Correct the check, or set its on_failure to warn.',
      { facts },
    )
  return new VitrinaError(
    'CHECK_FAILED',
    `Check "${first!.name}" (${first!.type}) of ${target} failed${rowsOf(first!)}: ${ended(first!.message)}${sample}${more}`,
    'Correct the rows in the source or the check, then run the pipeline again. With on_failure "quarantine" rows are set aside, with "warn" they are written.',
    { facts },
  )
}

/** The text of an expression may end anywhere. */
function ended(message: string): string {
  return message.endsWith('.') ? message : `${message}.`
}

function rowsOf({ failedRows }: CheckResult): string {
  return failedRows === 0 ? '' : ` for ${failedRows} ${failedRows === 1 ? 'row' : 'rows'}`
}

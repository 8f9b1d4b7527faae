import { ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'

export interface FieldMistake {
  readonly field: string
  readonly code: string
  readonly message: string
}

interface Problem {
  readonly code?: string
  readonly detail?: string
  readonly hint?: string
  readonly errors?: readonly FieldMistake[]
}

/** The server returned an error. */
export class ApiError extends VitrinaError {
  readonly status: number

  constructor(status: number, problem: Problem, url: string) {
    const { code, detail, hint } = describe(status, problem, url)
    super(code, detail, hint, { mistakes: problem.errors ?? [] })
    this.status = status
  }
}

function describe(status: number, problem: Problem, url: string) {
  const known = problem.code !== undefined && problem.code in ERRORS
  // A newer server may know codes that this program does not.
  const prefix = known || problem.code === undefined ? '' : `${problem.code}: `
  const detail = `${prefix}${problem.detail ?? `${url} returned status ${status}, which is not a response of a Vitrina API.`}`
  const code = known ? (problem.code as ErrorCode) : 'INTERNAL'
  return { code, detail, hint: hintFor(code, problem.hint) }
}

/** The hints of the API are for programs; a user of the command line needs the flags. */
function hintFor(code: ErrorCode, hint: string | undefined): string {
  if (code === 'CHECKPOINT_INVALID')
    return 'Add --reset-checkpoint to read everything again from the start, or --keep-checkpoint to continue from the current checkpoint.'
  if (code === 'REQUEST_INVALID') return 'Correct the values named above; --help lists the options.'
  if (code === 'UNAUTHENTICATED')
    return 'Set the token of this server with --token, VITRINA_API_TOKEN or "vitrina context add"; the server of this folder stores its own in VITRINA_HOME/api-token.'
  return hint ?? 'Check that the address is that of a Vitrina API, and read its log.'
}

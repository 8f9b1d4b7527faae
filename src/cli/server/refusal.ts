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

/** The server understood and said no. */
export class Refusal extends VitrinaError {
  readonly status: number

  constructor(status: number, problem: Problem, url: string) {
    const { code, detail, hint } = told(status, problem, url)
    super(code, detail, hint, { mistakes: problem.errors ?? [] })
    this.status = status
  }
}

function told(status: number, problem: Problem, url: string) {
  const known = problem.code !== undefined && problem.code in ERRORS
  // A newer server may know codes that this program does not.
  const prefix = known || problem.code === undefined ? '' : `${problem.code}: `
  const detail = `${prefix}${problem.detail ?? `${url} answered ${status}, and not as a Vitrina API does.`}`
  const code = known ? (problem.code as ErrorCode) : 'INTERNAL'
  return { code, detail, hint: hintFor(code, problem.hint) }
}

/** The API speaks to programs; who types a command needs its words. */
function hintFor(code: ErrorCode, hint: string | undefined): string {
  if (code === 'CHECKPOINT_INVALID')
    return 'Add --reset-checkpoint to read everything again from the start, or --keep-checkpoint to go on from the checkpoint as it is.'
  if (code === 'REQUEST_INVALID') return 'Correct what is named above; --help shows what the command takes.'
  if (code === 'UNAUTHENTICATED')
    return 'Give the token of this server with --token, VITRINA_API_TOKEN or "vitrina context add"; the server of this folder keeps its own in VITRINA_HOME/api-token.'
  return hint ?? 'See whether the address is that of a Vitrina API, and look at its log.'
}

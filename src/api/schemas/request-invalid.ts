import { VitrinaError } from '../../model/errors.js'

export interface FieldError {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** A request whose fields are wrong: all mistakes together, each with its field. */
export class RequestInvalid extends VitrinaError {
  readonly errors: readonly FieldError[]

  constructor(errors: readonly FieldError[]) {
    const told = errors
      .map(({ field, message }) => (field === '' ? message : `${field}: ${message}`))
      .join('; ')
    super(
      'REQUEST_INVALID',
      `The request is not valid. ${told.replace(/[.]$/, '')}.`,
      'Correct the fields that "errors" names.',
    )
    this.errors = errors
  }
}

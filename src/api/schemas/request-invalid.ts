import { VitrinaError } from '../../model/errors.js'

export interface FieldError {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** A request with invalid fields: all mistakes together, each with its field. */
export class RequestInvalid extends VitrinaError {
  readonly errors: readonly FieldError[]

  constructor(errors: readonly FieldError[]) {
    const summary = errors
      .map(({ field, message }) => (field === '' ? message : `${field}: ${message}`))
      .join('; ')
    super(
      'REQUEST_INVALID',
      `The request is invalid. ${summary.replace(/[.]$/, '')}.`,
      'Correct the fields listed in "errors".',
    )
    this.errors = errors
  }
}

import { VitrinaError } from '../../model/errors.js'

export interface FieldError {
  readonly field: string
  readonly code: string
  readonly message: string
}

/** More would not help: a body of 1 MiB can have 100,000 unknown fields. */
const MOST_ERRORS = 100

/** A request with invalid fields: all mistakes together, each with its field. */
export class RequestInvalid extends VitrinaError {
  readonly errors: readonly FieldError[]

  constructor(found: readonly FieldError[]) {
    const errors = found.slice(0, MOST_ERRORS)
    const more = found.length - errors.length
    if (more > 0) errors.push({ field: '', code: 'more', message: `and ${more} more mistakes` })
    const summary = errors
      .map(({ field, message }) => (field === '' ? '' : `${field}: `) + message.replace(/[.]$/, ''))
      .join('; ')
    super('REQUEST_INVALID', `The request is invalid. ${summary}.`, 'Correct the fields listed in "errors".')
    this.errors = errors
  }
}

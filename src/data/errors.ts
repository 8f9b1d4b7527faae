import { VitrinaError } from '../model/errors.js'

/** The request itself is wrong: the filter, the order or the cursor. */
export function invalidRequest(field: string, detail: string, hint: string): VitrinaError {
  return new VitrinaError('REQUEST_INVALID', detail, hint, { field })
}

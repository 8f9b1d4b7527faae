import type { z } from 'zod'
import type { FieldError } from './request-invalid.js'
import { fieldErrors } from './type-provider.js'

export interface ReadFields<T> {
  /** The valid fields. An invalid field is left out, so that rules about other fields can still be checked. */
  readonly draft: Partial<T>
  readonly errors: readonly FieldError[]
}

/**
 * Reads field by field, so that all mistakes are found together; a schema of the whole object would stop at its
 * shape.
 */
export function readFields<T>(
  fields: Readonly<Record<string, z.ZodType>>,
  raw: Readonly<Record<string, unknown>>,
  path = '',
): ReadFields<T> {
  const draft: Record<string, unknown> = {}
  const invalid = Object.entries(fields).flatMap(([name, schema]) => {
    const parsed = schema.safeParse(Object.hasOwn(raw, name) ? raw[name] : undefined)
    if (parsed.success) {
      draft[name] = parsed.data
      return []
    }
    return parsed.error.issues.flatMap((issue) => fieldErrors({ ...issue, path: [name, ...issue.path] }))
  })
  const unknown = Object.keys(raw).filter((name) => !Object.hasOwn(fields, name))
  const errors: readonly FieldError[] = [
    ...invalid,
    ...unknown.map((field) => ({ field, code: 'unrecognized_keys', message: 'Unknown field' })),
  ]
  return {
    draft: draft as Partial<T>,
    errors: path === '' ? errors : errors.map((error) => ({ ...error, field: `${path}.${error.field}` })),
  }
}

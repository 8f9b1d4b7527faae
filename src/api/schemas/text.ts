import { z } from 'zod'

/** PostgreSQL keeps neither NUL nor half of a surrogate pair. */
const UNSTORABLE = /\0|\p{Surrogate}/u

/** Text that can be stored as it is. */
export function text(least: number, most: number) {
  return z
    .string()
    .min(least, least === 1 ? 'must not be empty' : undefined)
    .max(most)
    .refine((value) => !UNSTORABLE.test(value), 'must contain neither NUL characters nor unpaired surrogates')
}

/** The same for readers of the JSON Schema, most of whom know no \p. */
const LINE_PATTERN = '^[^\\s\\x00-\\x1f\\x7f-\\x9f]([^\\x00-\\x1f\\x7f-\\x9f]*[^\\s\\x00-\\x1f\\x7f-\\x9f])?$'

/** Text on one line, for names. */
export function line(most: number) {
  return text(1, most)
    .refine(
      (value) => !/\p{Cc}/u.test(value) && value === value.trim(),
      'must not contain control characters, nor begin or end with a space',
    )
    .meta({ pattern: LINE_PATTERN })
}

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

/** Text on one line, for names. */
export function line(most: number) {
  return text(1, most).refine(
    (value) => !/\p{Cc}/u.test(value) && value === value.trim(),
    'must not contain control characters, nor begin or end with a space',
  )
}

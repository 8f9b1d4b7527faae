import { z } from 'zod'

const MAX_PAGE = 200
const DEFAULT_PAGE = 50

/** What every list takes. Query values are text, so a number is read from its digits. */
export const pageQuery = {
  limit: z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from 1 to ${MAX_PAGE}`)
    .transform(Number)
    .pipe(z.number().min(1).max(MAX_PAGE))
    .default(DEFAULT_PAGE),
  cursor: z.string().min(1).max(2000).optional(),
}

export function pageOf<T extends z.ZodType>(item: T) {
  return z.object({ items: z.array(item), next_cursor: z.string().nullable() })
}

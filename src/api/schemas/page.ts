import { z } from 'zod'

const MAX_PAGE = 200
const DEFAULT_PAGE = 50

/** Query values are text, so a number is parsed from its digits. */
function limitUpTo(most: number) {
  return z
    .string()
    .regex(/^\d{1,9}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .default(DEFAULT_PAGE)
    .describe('The maximum number of items.')
}

/** A boolean in a query. */
export function flag() {
  return z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .pipe(z.boolean())
}

/** The parameters of every list. */
export function pageQueryUpTo(most: number) {
  return {
    limit: limitUpTo(most),
    cursor: z.string().min(1).max(2000).optional().describe('next_cursor of the previous page.'),
  }
}

export const pageQuery = pageQueryUpTo(MAX_PAGE)
export const plainPage = z.strictObject(pageQuery)

export function pageSchema<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item).describe('The items of this page.'),
    next_cursor: z.string().nullable().describe('Send it as cursor to get the next page; null at the end.'),
  })
}

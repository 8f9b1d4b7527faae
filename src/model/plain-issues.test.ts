import { expect, it } from 'vitest'
import { z } from 'zod'
import './plain-issues.js'

it.each([
  [z.enum(['full', 'incremental']), 'half', 'must be "full" or "incremental"'],
  [z.enum(['one']), 'two', 'must be "one"'],
  [z.string(), undefined, 'is required'],
  [z.string(), 1, 'must be text'],
  [z.number(), 'one', 'must be a number'],
  [z.number().int(), 1.5, 'must be a whole number'],
  [z.boolean(), 'yes', 'must be true or false'],
  [z.array(z.string()), 'a', 'must be a list'],
  [z.string().min(1), '', 'must not be empty'],
  [z.string().min(8), 'short', 'must have at least 8 characters'],
  [z.string().max(3), 'long', 'must have at most 3 characters'],
  [z.array(z.string()).max(1), ['a', 'b'], 'must have at most 1 entries'],
  [z.number().min(1), 0, 'must be at least 1'],
  [z.number().lt(10), 10, 'must be less than 10'],
  [z.strictObject({ a: z.string() }), { a: 'a', b: 1, c: 2 }, 'has unknown fields: b, c'],
  [z.uuid(), 'x', 'must be a valid uuid'],
  [z.union([z.literal('auto'), z.number()]), true, 'does not match any of the allowed forms'],
  [z.string().regex(/^a/, 'must begin with a'), 'b', 'must begin with a'],
])('says what is wrong in plain words', (schema, value, expected) => {
  expect(schema.safeParse(value).error?.issues.map(({ message }) => message)).toEqual([expected])
})

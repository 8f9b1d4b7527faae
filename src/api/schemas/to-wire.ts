import type { z } from 'zod'
import { type CamelCase, camelCase } from '../../model/camel-case.js'

/** A response as the program has it: `runId` for `run_id`, and nothing that could be changed. */
type InProgram<W> = { readonly [K in keyof W & string as CamelCase<K>]: Frozen<W[K]> }

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

/**
 * The fields that `schema` has, taken from `value` or, if the program calls or computes them differently, from `given`.
 * Other properties of `value` are not part of the contract and stay here.
 */
export function toWire<
  W extends z.ZodRawShape,
  G extends Partial<z.infer<z.ZodObject<W>>> = Record<never, never>,
>(
  schema: z.ZodObject<W>,
  value: InProgram<Omit<z.infer<z.ZodObject<W>>, keyof G>>,
  given?: G,
): z.infer<z.ZodObject<W>> {
  const fields = { ...given } as Record<string, unknown>
  const known = value as Record<string, unknown>
  const wire = Object.keys(schema.shape).map((name) => [
    name,
    name in fields ? fields[name] : known[camelCase(name)],
  ])
  return Object.fromEntries(wire)
}

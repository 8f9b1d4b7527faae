import { z } from 'zod'

type Json = Record<string, unknown>

/** Named schemas are written once and referenced: inlined, the document was ten times as long. */
export class NamedSchemas {
  readonly #named = new Map<string, Json>()

  /** By name, in an order that does not depend on the order of routes. */
  get named(): Json {
    return Object.fromEntries([...this.#named].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  of(schema: z.ZodType, io: 'input' | 'output'): Json {
    const { $schema: _, $defs = {}, ...root } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Json
    for (const [name, definition] of Object.entries($defs as Record<string, Json>))
      this.#keep(name, definition)
    if (typeof root.id !== 'string') return refer(root)
    this.#keep(root.id, root)
    return { $ref: `#/components/schemas/${root.id}` }
  }

  #keep(name: string, { id: _, ...definition }: Json): void {
    this.#named.set(name, refer(definition))
  }
}

function refer(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json
}

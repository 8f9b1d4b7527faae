import { inspect } from 'node:util'

/** The result of a function cannot be written. */
export class InvalidResult extends Error {
  readonly row: number | null
  readonly sample: unknown
  readonly hint: string | null

  constructor(message: string, options: { row?: number; sample?: unknown; hint?: string } = {}) {
    super(message)
    this.row = options.row ?? null
    this.sample = options.sample ?? null
    this.hint = options.hint ?? null
  }
}

/** A bounded, readable description. */
export function shown(value: unknown, limit = 120): string {
  const text = inspect(value, { depth: 2, maxStringLength: 120, maxArrayLength: 10, breakLength: Infinity })
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`
}

export function got(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  return `${typeof value} ${shown(value)}`
}

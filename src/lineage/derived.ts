import type { ColumnUse, SourceColumn } from '../model/lineage.js'

export type ValueKind = 'constant' | 'direct' | 'expression' | 'aggregate'

/** Where a value comes from, according to one analysis of a text. */
export interface Derived {
  readonly kind: ValueKind
  readonly sources: ReadonlyMap<string, SourceColumn>
  /** The expression, for display; null: taken unchanged. */
  readonly text: string | null
  /** Why there may be more than `sources`; null: they are complete. */
  readonly unresolved: string | null
}

export interface DerivedField {
  readonly name: string
  readonly derived: Derived
}

/** Columns in order. `open`: why there may be more of them, at unknown positions. */
export interface DerivedTable {
  readonly fields: readonly DerivedField[]
  readonly open: string | null
}

export const CONSTANT: Derived = { kind: 'constant', sources: new Map(), text: null, unresolved: null }

export function columnOf(source: SourceColumn): Derived {
  return { kind: 'direct', sources: new Map([[sourceKey(source), source]]), text: null, unresolved: null }
}

export function unresolved(reason: string): Derived {
  return { kind: 'expression', sources: new Map(), text: null, unresolved: reason }
}

function sourceKey({ schema, table, column }: SourceColumn): string {
  return JSON.stringify([schema, table, column])
}

const ORDER: readonly ValueKind[] = ['constant', 'direct', 'expression', 'aggregate']

export function strongest(kinds: readonly ValueKind[]): ValueKind {
  return kinds.reduce((a, b) => (ORDER.indexOf(b) > ORDER.indexOf(a) ? b : a), 'constant')
}

export function union(parts: readonly Derived[]): Derived['sources'] {
  if (parts.length === 1) return parts[0]!.sources
  return new Map(parts.flatMap(({ sources }) => [...sources]))
}

/** One column of a UNION: a value of either side. */
export function either(left: Derived, right: Derived): Derived {
  const texts = [...new Set([left, right].map(textIn).filter((text) => text !== null))]
  const computed = left.text !== null || right.text !== null
  return {
    kind: strongest([left.kind, right.kind]),
    sources: union([left, right]),
    text: computed ? texts.join(' | ') : null,
    unresolved: left.unresolved ?? right.unresolved,
  }
}

/** The text of a value inside the text of another. */
export function textIn({ kind, sources, text }: Derived): string | null {
  if (text !== null) return text
  const [only, ...more] = sources.values()
  if (kind !== 'direct' || only === undefined || more.length > 0) return null
  return [only.schema, only.table, only.column].map(plain).join('.')
}

function plain(name: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

export function renamed({ fields, open }: DerivedTable, names: readonly string[]): DerivedTable {
  if (names.length === 0) return { fields, open }
  // If there may be more, it is unknown which one is second.
  if (open !== null) return { fields: names.map((name) => ({ name, derived: unresolved(open) })), open }
  return { fields: fields.map((field, n) => ({ ...field, name: names[n] ?? field.name })), open }
}

/** The columns used in row filters, with their role. */
export class Shaping {
  readonly #found = new Map<string, { source: SourceColumn; uses: Set<ColumnUse> }>()

  add({ sources }: Derived, use: ColumnUse): void {
    for (const [key, source] of sources) {
      const known = this.#found.get(key)
      if (known === undefined) this.#found.set(key, { source, uses: new Set([use]) })
      else known.uses.add(use)
    }
  }

  merge(other: Shaping): void {
    for (const [key, { source, uses }] of other.#found)
      for (const use of uses) this.add({ ...CONSTANT, sources: new Map([[key, source]]) }, use)
  }

  get sources(): Derived['sources'] {
    return new Map([...this.#found].map(([key, { source }]) => [key, source]))
  }

  list(): { source: SourceColumn; uses: ColumnUse[] }[] {
    return [...this.#found.values()].map(({ source, uses }) => ({ source, uses: [...uses] }))
  }
}

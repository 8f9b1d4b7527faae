import type { ColumnKind } from '../model/lineage.js'
import type { TransformInfo } from '../ports/transforms.js'

/** A column on its way through registered functions. */
export interface Passing {
  readonly name: string
  readonly kind: ColumnKind | null
  readonly through: readonly string[]
  readonly reason: string | null
}

/**
 * Column lineage through Python and TypeScript functions. Their code is not analysed, so a column is followed by its
 * name: one that goes in and comes out counts as the same (`transform`), one that a function declares to add or change
 * is computed by it (`opaque`). After a function that is not registered, everything is uncertain.
 */
export function throughTransforms<C extends Passing>(
  columns: readonly C[],
  names: readonly string[],
  { known, made }: { readonly known: readonly TransformInfo[]; readonly made: (name: string) => C },
): C[] {
  let passing = [...columns]
  for (const name of names) {
    const info = known.find((one) => one.name === name)
    if (info === undefined)
      return passing.map((column) => unknown(column, `the function ${name} is not registered`))
    const added = Object.keys(info.adds)
    const kept = passing.filter((column) => !info.drops.includes(column.name) && !added.includes(column.name))
    passing = [
      ...kept.map((column) => ({ ...column, kind: kindAfter(column), through: [...column.through, name] })),
      ...added.map((column) => ({ ...made(column), kind: 'opaque' as const, through: [name] })),
    ]
  }
  return passing
}

function kindAfter({ kind }: Passing): ColumnKind {
  return kind === 'unresolved' || kind === 'opaque' ? kind : 'transform'
}

function unknown<C extends Passing>(column: C, reason: string): C {
  return { ...column, kind: 'unresolved', reason: column.reason ?? reason }
}

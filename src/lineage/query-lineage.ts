import type { Tree } from '../guard/index.js'
import type { ColumnLineage, QueryLineage } from '../model/lineage.js'
import type { DerivedField } from './derived.js'
import { type KnownColumns, LineageWork, TooComplex } from './lineage-work.js'
import { select } from './select.js'
import { nodeOf } from './tree.js'

/**
 * Where the columns of a query come from, based on its text and the columns of its tables. Pure: needs no server. What
 * cannot be determined is unresolved, with the reason; a column never gets a wrong source.
 * The text must have passed the guard, so that every table has its schema.
 */
export function lineageOf(sql: string, statement: Tree, columns: KnownColumns): QueryLineage {
  const work = new LineageWork(sql, columns, select)
  try {
    const table = work.select(nodeOf(statement).node, { queries: new Map(), outer: null })
    return {
      columns: table.fields.map(toColumn),
      open: table.open,
      shaping: work.shaping.list().map(({ source, uses }) => ({ ...source, uses })),
    }
  } catch (error) {
    // The available stack depends on the caller.
    if (!(error instanceof TooComplex) && !(error instanceof RangeError)) throw error
    return { columns: [], open: 'the query is too long or nested too deeply to analyse', shaping: [] }
  }
}

function toColumn({ name, derived }: DerivedField): ColumnLineage {
  return {
    name,
    kind: derived.unresolved === null ? derived.kind : 'unresolved',
    sources: [...derived.sources.values()],
    expression: derived.text,
    reason: derived.unresolved,
  }
}

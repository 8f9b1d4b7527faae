import type { Tree } from '../guard/index.js'
import type { ColumnLineage, QueryLineage } from '../model/lineage.js'
import type { Field } from './derived.js'
import { select } from './select.js'
import { nodeOf } from './tree.js'
import { type KnownColumns, TooComplex, Work } from './work.js'

/**
 * Where the columns of a query come from, by its text and the columns of the tables that it names. Pure: no server is
 * asked. What cannot be told for certain is unresolved, with the reason; no column ever gets a source that it has not.
 * The text must have passed the guard, so that every table carries its schema.
 */
export function lineageOf(sql: string, statement: Tree, columns: KnownColumns): QueryLineage {
  const work = new Work(sql, columns, select)
  try {
    const table = work.select(nodeOf(statement)?.node ?? {}, { queries: new Map(), outer: null })
    return {
      columns: table.fields.map(toColumn),
      open: table.open,
      shaping: work.shaping.list().map(({ source, uses }) => ({ ...source, uses })),
    }
  } catch (error) {
    // How much a stack holds depends on who called.
    if (!(error instanceof TooComplex) && !(error instanceof RangeError)) throw error
    return { columns: [], open: 'the query is too long or nested too deeply to be followed', shaping: [] }
  }
}

function toColumn({ name, derived }: Field): ColumnLineage {
  return {
    name,
    kind: derived.unresolved === null ? derived.kind : 'unresolved',
    sources: [...derived.sources.values()],
    expression: derived.text,
    reason: derived.unresolved,
  }
}

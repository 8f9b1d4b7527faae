import type { Tree } from '../guard/index.js'
import { type DerivedTable, Shaping } from './derived.js'
import { QueryText } from './query-text.js'
import type { Scope } from './scope.js'

/** The table with this name in a database. Null: it does not exist or could not be read. */
export type KnownColumns = (schema: string, table: string) => readonly string[] | null

/** The WITH queries visible at a place. */
export type WithQueries = ReadonlyMap<string, () => DerivedTable>

export interface QueryContext {
  readonly queries: WithQueries
  /** The enclosing query; null: none, or not visible from here. */
  readonly outer: Scope | null
}

/** More than any real query: 256 kB of joins and stars need a tenth. */
const MOST_WORK = 400_000
/** PostgreSQL's limit of columns. */
const MOST_COLUMNS = 1_664

/** The analysis would be too expensive, intentionally or not. */
export class TooComplex extends Error {}

/** State shared by all parts of one analysis. */
export class LineageWork {
  readonly text: QueryText
  readonly columns: KnownColumns
  /** Passed in, because FROM, expressions and SELECT depend on each other. */
  readonly select: (node: Tree, place: QueryContext) => DerivedTable
  #shaping = new Shaping()
  #spent = 0

  constructor(
    sql: string,
    columns: KnownColumns,
    select: (work: LineageWork, node: Tree, place: QueryContext) => DerivedTable,
  ) {
    this.text = new QueryText(sql)
    this.columns = columns
    this.select = (node, place) => select(this, node, place)
  }

  get shaping(): Shaping {
    return this.#shaping
  }

  /** Limits growth: nested CTEs can double with every level. */
  spend(units: number): void {
    this.#spent += units + 1
    if (this.#spent > MOST_WORK) throw new TooComplex()
  }

  limited(table: DerivedTable): DerivedTable {
    this.spend(table.fields.length)
    if (table.fields.length > MOST_COLUMNS) throw new TooComplex()
    return table
  }

  /** Row filters of a part, separately; they are also added to the whole. */
  shapingOf<T>(part: () => T): { result: T; shaping: Shaping } {
    const outer = this.#shaping
    const shaping = new Shaping()
    this.#shaping = shaping
    try {
      return { result: part(), shaping }
    } finally {
      this.#shaping = outer
      outer.merge(shaping)
    }
  }
}

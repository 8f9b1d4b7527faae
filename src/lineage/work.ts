import type { Tree } from '../guard/index.js'
import { Shaping, type Table } from './derived.js'
import { QueryText } from './query-text.js'
import type { Scope } from './scope.js'

/** What a database has under a name. Null: no such table, or nobody could look. */
export type KnownColumns = (schema: string, table: string) => readonly string[] | null

/** The WITH queries that can be named at a place. */
export type WithQueries = ReadonlyMap<string, () => Table>

export interface Place {
  readonly queries: WithQueries
  /** The query around this one; null: none, or it may not be seen from here. */
  readonly outer: Scope | null
}

/** More than any query that people write: 256 kB of joins and stars need a tenth. */
const MOST_WORK = 400_000
/** PostgreSQL itself allows no more columns. */
const MOST_COLUMNS = 1_664

/** The query asks for more than it is worth, on purpose or not. */
export class TooComplex extends Error {}

/** What all parts of one reading share. */
export class Work {
  readonly text: QueryText
  readonly columns: KnownColumns
  /** Handed in, because FROM, expressions and SELECT need each other. */
  readonly select: (node: Tree, place: Place) => Table
  #shaping = new Shaping()
  #spent = 0

  constructor(sql: string, columns: KnownColumns, select: (work: Work, node: Tree, place: Place) => Table) {
    this.text = new QueryText(sql)
    this.columns = columns
    this.select = (node, place) => select(this, node, place)
  }

  get shaping(): Shaping {
    return this.#shaping
  }

  /** Counts what grows: a CTE of a CTE of a CTE can double with every line. */
  spend(units: number): void {
    this.#spent += units + 1
    if (this.#spent > MOST_WORK) throw new TooComplex()
  }

  limited(table: Table): Table {
    this.spend(table.fields.length)
    if (table.fields.length > MOST_COLUMNS) throw new TooComplex()
    return table
  }

  /** What shapes the rows of a part, apart from the rest; the rest gets it, too. */
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

import type { Target } from '../sinks/postgres/target.js'
import type { Column } from '../sql/selection.js'
import type { Examined } from '../transfers/examine.js'

/** What was seen of both sides. */
export interface Looked extends Examined {
  /** What reaches the mart: the columns of the query, or what the transforms make of them. */
  readonly written: readonly Column[]
  /** Null: the mart is not there yet and will be created. */
  readonly target: Target | null
}

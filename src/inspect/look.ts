import type { Way } from '../model/pipeline.js'
import type { Target } from '../sinks/postgres/target.js'
import type { Column } from '../sql/selection.js'
import type { Examined } from '../transfers/examine.js'
import type { SinkLook } from './sink-look.js'

/** What was seen of both sides. */
export interface Looked extends Examined {
  /** How a run would move the rows. */
  readonly way: Way
  /** What reaches the mart: the columns of the query, or what the transforms make of them. */
  readonly written: readonly Column[]
  /** The table; null: it is not there yet and will be created, or the mart is no table. */
  readonly target: Target | null
  /** What stands behind a sink; null: the mart is a table. */
  readonly sink: SinkLook | null
}

import type { Target } from '../sinks/postgres/target.js'
import type { Examined } from '../transfers/examine.js'

/** What was seen of both sides. */
export interface Looked extends Examined {
  /** Null: the mart is not there yet and will be created. */
  readonly target: Target | null
}

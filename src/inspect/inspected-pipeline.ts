import type { Way } from '../model/pipeline.js'
import type { TargetTable } from '../sinks/postgres/target.js'
import type { Column } from '../sql/selection.js'
import type { Examined } from '../transfers/examine.js'
import type { SinkExamination } from './examine-sink.js'

/** The result of inspecting both sides. */
export interface InspectedPipeline extends Examined {
  /** How a run would move the rows. */
  readonly way: Way
  /** The columns that reach the mart: those of the query, or the output of the transforms. */
  readonly written: readonly Column[]
  /** The table; null: it does not exist yet and will be created, or the mart is not a table. */
  readonly target: TargetTable | null
  /** The examination by a sink; null: the mart is a table. */
  readonly sink: SinkExamination | null
}

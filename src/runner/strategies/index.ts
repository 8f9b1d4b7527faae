import type { Pipeline, Strategy } from '../../model/pipeline.js'
import type { Step, Transfer } from '../../ports/transfer.js'

/** The steps of a run, in order. A strategy says what has to happen; the transfer knows how. */
type Plan = (transfer: Transfer, pipeline: Pipeline) => Step[]

const full: Plan = (transfer, pipeline) =>
  pipeline.fullStrategy === 'replace'
    ? [transfer.replace()]
    : [transfer.fullPass(), ...sweep(transfer, pipeline)]

const incremental: Plan = (transfer, pipeline) => [
  pipeline.capture === 'xmin' ? transfer.changedRows() : transfer.incrementalPass(),
  ...sweep(transfer, pipeline),
]

const sweep: Plan = (transfer, pipeline) => (pipeline.deletes === 'sweep' ? [transfer.sweep()] : [])

/** R4.2. A task plan reads with its first step and transforms on the way; which rows are read does not change. */
export const STRATEGIES: Record<Strategy, Plan> = {
  sql_full: full,
  sql_incremental: incremental,
  tasks_full: full,
  tasks_incremental: incremental,
}

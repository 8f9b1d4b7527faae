import { isLive, type Pipeline, type Strategy } from '../model/pipeline.js'
import type { Step, Transfer } from '../ports/transfer.js'

/** Returns the steps of a run, in order. A strategy decides what has to happen; the transfer knows how. */
type StepsOf = (transfer: Transfer, pipeline: Pipeline) => Step[]

const full: StepsOf = (transfer, pipeline) =>
  pipeline.fullStrategy === 'replace'
    ? [transfer.replace()]
    : [transfer.fullPass(), ...sweep(transfer, pipeline)]

const incremental: StepsOf = (transfer, pipeline) => [
  transfer.incrementalPass(),
  ...(isLive(pipeline) ? [transfer.follow()].filter((step) => step !== null) : []),
  ...sweep(transfer, pipeline),
]

/** With capture "wal" deleted rows are among the changes. */
const sweep: StepsOf = (transfer, { mode, capture, deletes }) =>
  deletes === 'sweep' && !(mode === 'incremental' && capture === 'wal') ? [transfer.sweep()] : []

/**
 * In a group every row is computed, so that all marts show one state of the source: changes since a checkpoint are
 * found in other snapshots.
 */
export const groupSteps: StepsOf = (transfer, pipeline) =>
  pipeline.mode === 'full' ? full(transfer, pipeline) : [transfer.recompute(), ...sweep(transfer, pipeline)]

/** R4.2. The first step of a task plan reads the rows and the others transform them; the rows that are read are the same. */
export const STRATEGIES: Record<Strategy, StepsOf> = {
  sql_full: full,
  sql_incremental: incremental,
  tasks_full: full,
  tasks_incremental: incremental,
}

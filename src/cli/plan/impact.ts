import { fieldsThatChange } from '../../model/pipeline-fields.js'
import { isHeld } from '../../model/status.js'
import type { Server } from '../server/server.js'
import type { Pipeline } from '../server/wire.js'
import type { PlannedChange } from './planned-changes.js'

/** What a checkpoint depends on: the rows of one query in one order, written to one place. */
const CHECKPOINT_FIELDS: readonly string[] = [...fieldsThatChange('checkpoint'), 'tasks']
const FREE_WHILE_RUNNING: readonly string[] = fieldsThatChange('always')

/** The consequences of a change beyond the field itself. */
export async function impactOf(
  server: Server,
  current: Pipeline,
  changes: readonly PlannedChange[],
): Promise<string[]> {
  const fields = changes.map(({ field }) => field)
  const fixed = isHeld(current.status) ? fields.filter((field) => !FREE_WHILE_RUNNING.includes(field)) : []
  return [
    ...(await checkpointImpact(server, current, fields)),
    ...(fixed.length === 0
      ? []
      : [
          `the pipeline is ${current.status}: ${fixed.join(', ')} can change only after it is paused or the run ends`,
        ]),
    ...(fields.includes('target_table')
      ? [`the mart ${current.target_table} is kept; the next run fills the new one`]
      : []),
  ]
}

async function checkpointImpact(
  server: Server,
  { id }: Pipeline,
  fields: readonly string[],
): Promise<string[]> {
  const changed = fields.filter((field) => CHECKPOINT_FIELDS.includes(field))
  if (changed.length === 0) return []
  const state = await server.ask(server.api.GET('/pipelines/{id}/state', { params: { path: { id } } }))
  if (state.last_processed_key === null) return []
  return [
    `changes ${changed.join(', ')}: this invalidates the checkpoint (${state.last_processed_key}), needs --reset-checkpoint`,
  ]
}

export function needsCheckpointDecision(impact: readonly string[]): boolean {
  return impact.some((line) => line.includes('--reset-checkpoint'))
}

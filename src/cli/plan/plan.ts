import type { FilePipeline } from '../../config/pipeline-file.js'
import { listPipelines } from '../server/find-pipeline.js'
import type { Server } from '../server/server.js'
import type { Pipeline } from '../server/wire.js'
import { impactOf } from './impact.js'
import { type Normalise, type PlannedChange, plannedChanges } from './planned-changes.js'
import type { RulePlan } from './rule-plan.js'

export interface Update {
  readonly file: FilePipeline
  readonly current: Pipeline
  readonly changes: readonly PlannedChange[]
  readonly impact: readonly string[]
}

/** The differences between the files and the server. */
export interface Plan {
  readonly creates: readonly FilePipeline[]
  readonly updates: readonly Update[]
  readonly unchanged: readonly FilePipeline[]
  /** On the server, but in none of the files. */
  readonly extra: readonly Pipeline[]
  /** Null: no file has notification rules, so that those of the server are left alone. */
  readonly rules: RulePlan | null
}

export async function makePlan(
  server: Server,
  files: readonly FilePipeline[],
  normalise: Normalise,
): Promise<Omit<Plan, 'rules'>> {
  const current = new Map((await listPipelines(server)).map((pipeline) => [pipeline.name, pipeline]))
  const creates: FilePipeline[] = []
  const unchanged: FilePipeline[] = []
  const updates: Update[] = []
  for (const file of files) {
    const found = current.get(file.name)
    const changes = found === undefined ? [] : plannedChanges(file.fields, found, normalise)
    if (found === undefined) creates.push(file)
    else if (changes.length === 0) unchanged.push(file)
    else updates.push({ file, current: found, changes, impact: await impactOf(server, found, changes) })
    current.delete(file.name)
  }
  return { creates, updates, unchanged, extra: [...current.values()] }
}

export function hasChanges({ rules, ...pipelines }: Plan, prune: boolean): boolean {
  return [pipelines, ...(rules === null ? [] : [rules])].some(
    ({ creates, updates, extra }) => creates.length + updates.length + (prune ? extra.length : 0) > 0,
  )
}

import type { LiveEvent } from '../api/wire.js'

export type { LiveEvent }

/** Fields that every event has. `at` of a comparison is its end. */
type Common = 'seq' | 'at' | 'kind' | 'pipeline_id' | 'run_id'
type Facts<Kind extends LiveEvent['kind']> = Omit<Extract<LiveEvent, { kind: Kind }>, Common>

export type RunEvent = Extract<LiveEvent, { kind: 'run.status' }>
export type RunFacts = Facts<'run.status'>
export type ComparisonFacts = Facts<'pipeline.compared'>
export type BatchFacts = Facts<'run.batch'>

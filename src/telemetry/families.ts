/** The metrics that this process counts and that the meta store can also answer, for the whole fleet: one name, one meaning. */
export const RUNS = {
  name: 'vitrina_runs_total',
  help: 'Runs that ended, by how they ended.',
  labelNames: ['pipeline', 'status'],
} as const
export const ROWS = {
  name: 'vitrina_rows_total',
  help: 'Rows, by what became of them.',
  labelNames: ['pipeline', 'stage'],
} as const
export const LAST_SUCCESS = {
  name: 'vitrina_last_success_timestamp_seconds',
  help: 'When a run of the pipeline last ended well.',
  labelNames: ['pipeline'],
} as const
export const RUN_DURATION = {
  name: 'vitrina_run_duration_seconds',
  help: 'How long runs took, from their first claim to their end.',
  labelNames: ['pipeline'],
  buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
} as const
export const HEARTBEAT = {
  name: 'vitrina_runner_heartbeat_timestamp_seconds',
  help: 'The last sign of life of a runner.',
} as const

export const STAGES = ['read', 'inserted', 'updated', 'unchanged', 'deleted', 'quarantined'] as const

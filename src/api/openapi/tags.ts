/** The groups of routes in the reference. */
export const TAGS = {
  access: 'Sign in, and manage tokens and sessions. The audit log.',
  checks: 'Data checks and their results.',
  configuration: 'Create, change, enable and delete pipelines. Set checkpoints.',
  control: 'Request, pause and cancel runs.',
  events: 'Live events of pipelines and runs.',
  inspection: 'Validate and preview queries, read marts, and compare them with their sources.',
  lineage: 'Where data comes from, and in which order pipelines run.',
  notifications: 'Notification rules, channels, and undelivered notifications.',
  operation: 'Health, metrics and settings of the server; runners, connections and sources.',
  pipelines: 'Pipelines with their status, runs, checkpoint and freshness.',
  quarantine: 'Rows that a target or a data check rejected.',
  runs: 'Runs with their batches, parts and log.',
  versions: 'The history of a configuration.',
} as const

export type Tag = keyof typeof TAGS

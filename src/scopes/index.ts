export {
  type Affected,
  chooseRecompute,
  keyQueryCost,
  MOST_ENTRIES,
  type RecomputeChoice,
  type RecomputeWay,
} from './choose-recompute.js'
export { type Image, keyQueryValues } from './key-query.js'
export type { BaseTable, QueryFacts, ReplicaIdentity } from './query-facts.js'
export { readQueryFacts } from './read-query-facts.js'
export type {
  ImageParameter,
  KeyQuery,
  NotTraced,
  OccurrenceTrace,
  PlanDependentColumn,
  Recompute,
  ScopeColumn,
  ScopeTrace,
  TableTrace,
  Traced,
} from './scope-trace.js'
export { traceScopes } from './trace-scopes.js'

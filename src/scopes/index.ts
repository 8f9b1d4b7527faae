export {
  type Affected,
  chooseRecompute,
  keyQueryCost,
  MOST_LOG_ENTRIES,
  type RecomputeChoice,
} from './choose-recompute.js'
export { type FollowedColumn, followedColumns } from './followed-columns.js'
export { KeptFacts } from './kept-facts.js'
export { type Image, keyQueryValues } from './key-query.js'
export { type BaseTable, type QueryFacts, type ReplicaIdentity, relationKey } from './query-facts.js'
export { readQueryFacts } from './read-query-facts.js'
export { arrayLiteral, recomputeText } from './recompute.js'
export type {
  ImageParameter,
  KeyQuery,
  NotTraced,
  OccurrenceTrace,
  PlanDependentColumn,
  Recompute,
  RecomputeWay,
  ScopeColumn,
  ScopeTrace,
  TableTrace,
  Traced,
} from './scope-trace.js'
export { traceScopes } from './trace-scopes.js'

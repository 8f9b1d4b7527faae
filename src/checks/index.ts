export { CheckFailure, failureOf } from './check-failure.js'
export { checkMart, keyText } from './check-mart.js'
export { type CheckedBatch, checkRowBatch } from './check-row-batch.js'
export {
  type CheckRules,
  type CompiledChecks,
  compileChecks,
  type MartCheck,
  type RowCheck,
  refusedTable,
} from './compile-checks.js'
export type { CheckedColumn } from './condition.js'
export {
  erroneous,
  failingRows,
  guardedRelation,
  isCheckFailure,
  isPortable,
  rowResult,
} from './row-checker.js'

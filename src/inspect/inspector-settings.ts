import type { CheckRules } from '../checks/index.js'
import type { SqlGuard } from '../guard/index.js'
import { finalTarget, type Pipeline } from '../model/pipeline.js'
import { kindOf, type TargetRules } from '../model/target.js'
import type { PartEngine } from '../ports/part-engine.js'
import type { SinkKind } from '../ports/sink.js'
import type { TransformHosts } from '../ports/transforms.js'
import type { PreviewTimeouts } from './read-first-rows.js'

export interface InspectorSettings {
  readonly readerUrl: string
  /** A login that can read the marts of the main database but not change them. */
  readonly martUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly sourceSchemas: readonly string[]
  readonly guard: SqlGuard
  readonly transforms: TransformHosts
  readonly engine: Pick<PartEngine, 'require'>
  /** Shorter in tests. */
  readonly timeouts?: PreviewTimeouts
}

/** What the checks of a pipeline may read, and where they are evaluated. */
export function rulesForChecks(
  { guard, targets, sourceSchemas }: InspectorSettings,
  pipeline: Pipeline,
): CheckRules {
  return { guard, targets, sourceSchemas, isTable: kindOf(finalTarget(pipeline), targets) === null }
}

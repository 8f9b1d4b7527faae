import type { Settings } from '../config/settings.js'
import type { TargetRules } from '../model/target.js'
import type { SinkKind } from '../ports/sink.js'
import { type SinkModule, sinkKinds } from '../sinks/index.js'

/** Where pipelines may write (R4.12): PostgreSQL tables, and what the registered sinks allow. */
export function targetRules(settings: Settings, sinks?: readonly SinkModule[]): TargetRules<SinkKind> {
  return { tables: settings.ALLOWED_TARGET_TABLES, kinds: sinkKinds(settings.environment, sinks) }
}

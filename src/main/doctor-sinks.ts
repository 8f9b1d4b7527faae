import type { Settings } from '../config/settings.js'
import type { SinkKind } from '../ports/sink.js'
import { asVitrinaError } from './failure.js'
import { type Finding, failed, ok, skipped } from './finding.js'
import { targetRules } from './targets.js'

/** Longer than a server that is well needs to answer. */
const PATIENCE_MS = 5_000

/** The kinds of targets besides PostgreSQL: what is not configured is no fault, what is must answer. */
export function examineSinks(settings: Settings): Promise<Finding[]> {
  return Promise.all(targetRules(settings).kinds.map(examineSink))
}

async function examineSink(kind: SinkKind): Promise<Finding> {
  const check = `${kind.prefix} targets`
  try {
    const missing = await kind.missing()
    if (missing !== null) return skipped(check, `${missing.message} ${missing.hint}`)
    return ok(check, await kind.ping(AbortSignal.timeout(PATIENCE_MS)))
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return failed(check, message, hint)
  }
}

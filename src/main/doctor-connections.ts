import type { Settings } from '../config/settings.js'
import type { ConnectionReport } from '../model/connection.js'
import { untestedVersion } from '../postgres/server-version.js'
import { namedDatabases } from './connection-probes.js'
import { type DoctorResult, failed, ok, skipped, warning } from './doctor-result.js'
import { probeDatabase, probeSink } from './probe.js'
import { targetRules } from './targets.js'

/**
 * Named databases and the kinds of targets besides PostgreSQL: not configured is not an error, but a configured one
 * must respond.
 */
export async function examineConnections(settings: Settings): Promise<DoctorResult[]> {
  const databases = namedDatabases(settings).map(async (database) =>
    toCheckResult(`connection ${database.name}`, await probeDatabase(database)),
  )
  const sinks = targetRules(settings).kinds.map(async (kind) =>
    toCheckResult(`${kind.prefix} targets`, await probeSink(kind)),
  )
  return Promise.all([...databases, ...sinks])
}

function toCheckResult(check: string, report: ConnectionReport): DoctorResult {
  const { state, detail, failure, version, address } = report
  if (failure !== null) return failed(check, failure.message, failure.hint)
  if (state === 'not_configured') return skipped(check, detail ?? '')
  if (detail !== null) return ok(check, detail)
  const text = version ?? ''
  const untested = untestedVersion({ number: Number.parseInt(text, 10) * 10_000, text })
  return untested === null
    ? ok(check, `PostgreSQL ${text} responds at ${address}`)
    : warning(check, `${address}: ${untested}`)
}

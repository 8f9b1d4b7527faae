import type { Settings } from '../config/settings.js'
import { findBinaries } from '../embedded/binaries.js'
import type { VitrinaError } from '../model/errors.js'
import { asVitrinaError } from './as-vitrina-error.js'
import { examineConnections } from './doctor-connections.js'
import { examineDatabase } from './doctor-database.js'
import { type DoctorResult, failed, ok, skipped } from './doctor-result.js'
import { examineTasks } from './doctor-tasks.js'
import { runningEmbedded } from './embedded-url.js'
import { readEnvironment } from './environment.js'
import { isPortFree } from './port.js'

/** Checks everything that Vitrina needs, and changes nothing. */
export async function examineInstallation(): Promise<DoctorResult[]> {
  const node = ok('Node', `${process.versions.node}; 20.19 or newer is required`)
  try {
    const settings = readEnvironment()
    return [
      node,
      ok('settings', 'all are valid'),
      ...(await examineMain(settings)),
      ...(await examineTasks(settings)),
      ...(await examineConnections(settings)),
      await examinePort(settings),
    ]
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return [node, failed('settings', message, hint)]
  }
}

async function examineMain(settings: Settings): Promise<DoctorResult[]> {
  if (settings.DATABASE_URL !== undefined) {
    const findings = await examineDatabase({ ...settings, DATABASE_URL: settings.DATABASE_URL })
    return [skipped('embedded PostgreSQL', 'not needed, DATABASE_URL is set'), ...findings]
  }
  const embedded = examineBinaries()
  const url = await runningEmbedded(settings.VITRINA_HOME)
  if (url === null)
    return [embedded, skipped('database', 'the embedded server is not running; "vitrina up" starts it')]
  return [embedded, ...(await examineDatabase({ ...settings, DATABASE_URL: url }))]
}

function examineBinaries(): DoctorResult {
  try {
    return ok('embedded PostgreSQL', `${findBinaries().version} is installed`)
  } catch (error) {
    const { message, hint } = error as VitrinaError
    return failed('embedded PostgreSQL', message, hint)
  }
}

async function examinePort({ VITRINA_HOST: host, VITRINA_PORT: port }: Settings): Promise<DoctorResult> {
  const address = `${host}:${port}`
  try {
    if (port === 0 || (await isPortFree(host, port))) return ok('port', `${address} is free`)
    if (await isVitrina(host, port)) return ok('port', `Vitrina itself is listening on ${address}`)
    return failed(
      'port',
      `another program is listening on ${address}`,
      'Stop it, or set VITRINA_PORT to another port.',
    )
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return failed('port', message, hint)
  }
}

async function isVitrina(host: string, port: number): Promise<boolean> {
  const name = host.includes(':') ? `[${host}]` : host
  const answer = await fetch(`http://${name}:${port}/health`, { signal: AbortSignal.timeout(2_000) }).catch(
    () => null,
  )
  const body = (await answer?.json().catch(() => null)) as { status?: string } | null | undefined
  return body?.status !== undefined
}

import { VitrinaError } from '../model/errors.js'

/** The major versions of PostgreSQL that the tests run against. */
const OLDEST = 14
const NEWEST = 18

export interface ServerVersion {
  /** `server_version_num`, such as 140023. */
  readonly number: number
  /** `server_version`, such as `14.23 (Debian 14.23-1)`. */
  readonly text: string
}

/** An older server lacks functions that runs depend on, so nothing is tried there. */
export function requireSupportedVersion({ number, text }: ServerVersion): void {
  if (majorOf(number) >= OLDEST) return
  throw new VitrinaError(
    'SERVER_TOO_OLD',
    `The server runs PostgreSQL ${text}. Vitrina needs PostgreSQL ${OLDEST} or newer.`,
    `Upgrade the server, or use one with PostgreSQL ${OLDEST} to ${NEWEST}.`,
  )
}

/** A sentence for operators when the server is newer than every tested version; null otherwise. */
export function untestedVersion({ number, text }: ServerVersion): string | null {
  if (majorOf(number) <= NEWEST) return null
  return `The server runs PostgreSQL ${text}, which this release of Vitrina was not tested with. Tested versions: ${OLDEST} to ${NEWEST}.`
}

function majorOf(number: number): number {
  return Math.floor(number / 10_000)
}

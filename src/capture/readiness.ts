import type { Session } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'

/** Something that capturing needs, with the statement that provides it. */
export interface Requirement {
  readonly isMet: boolean
  /** The facts in a sentence. */
  readonly text: string
  /** For an administrator of the source; null: it is met, or no statement helps. */
  readonly statement: string | null
  /** The server has to be restarted after the statement, which is the administrator's decision. */
  readonly needsRestart: boolean
}

export interface CaptureLogin {
  readonly user: string
  /** The setting that names it; null: it is not set, and the login of the source queries is used. */
  readonly setting: string
  readonly isOwn: boolean
}

/** With publish_via_partition_root. */
const OLDEST_VERSION = 130_000

const FACTS = `
  SELECT current_setting('wal_level') AS level, current_setting('max_replication_slots') AS slots, current_setting('max_wal_senders') AS senders,
         (SELECT count(*) FROM pg_replication_slots WHERE slot_name <> $1)::text AS "usedSlots",
         (SELECT count(*) FROM pg_stat_replication)::text AS "usedSenders",
         EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1) AS "hasSlot",
         pg_is_in_recovery() AS standby, current_setting('server_version_num') AS version`

/** What the server must have, whichever tables are captured. Changes nothing. */
export async function serverRequirements(session: Session, slot: string): Promise<Requirement[]> {
  const [row] = await session.rows(FACTS, [slot])
  const { level, slots, senders, usedSlots, usedSenders, hasSlot, standby, version } = row!
  const found: Requirement[] = []
  if (Number(version) < OLDEST_VERSION)
    found.push(unmet(`The server has version ${version}; capture wal needs PostgreSQL 13 or newer.`))
  if (standby === 't')
    found.push(unmet('The server is a standby. Changes are captured on the primary: use its address.'))
  found.push(
    level === 'logical'
      ? met('wal_level is logical.')
      : unmet(
          `wal_level is ${level}: the WAL does not contain the changed rows.`,
          "ALTER SYSTEM SET wal_level = 'logical'",
        ),
  )
  found.push(room('max_replication_slots', Number(slots), hasSlot === 't' ? -1 : Number(usedSlots)))
  // One that is in use may be that of the captor itself.
  found.push(room('max_wal_senders', Number(senders), hasSlot === 't' ? -1 : Number(usedSenders)))
  return found
}

/** `used` -1: it already has its own. */
function room(setting: string, most: number, used: number): Requirement {
  if (used < most && most > 0)
    return met(used < 0 ? `${setting} is ${most}.` : `${setting} is ${most}; ${used} are in use.`)
  return unmet(
    `${setting} is ${most}, and ${used < 0 ? 'none is left' : `${used} are in use`}: one more is needed.`,
    `ALTER SYSTEM SET ${setting} = ${most + 5}`,
  )
}

/** REPLICATION is a powerful privilege: it can copy the whole cluster. Therefore a separate login is recommended. */
export async function loginRequirement(
  session: Session,
  { user, setting, isOwn }: CaptureLogin,
): Promise<Requirement> {
  const [role] = await session.rows(
    'SELECT rolreplication OR rolsuper AS may, rolcanlogin AS login FROM pg_roles WHERE rolname = $1',
    [user],
  )
  const base = { needsRestart: false }
  if (role?.may === 't')
    return { ...base, isMet: true, text: `The login ${user} has REPLICATION.`, statement: null }
  if (!isOwn)
    return {
      ...base,
      isMet: false,
      text: `${setting} is not set, and the login of the source queries, ${user}, has no REPLICATION. Create a login for capturing and set ${setting} to its address.`,
      statement: "CREATE ROLE vitrina_capture LOGIN REPLICATION PASSWORD '<password>'",
    }
  const name = quoteIdentifier(user)
  return role === undefined
    ? {
        ...base,
        isMet: false,
        text: `The login ${user} of ${setting} does not exist.`,
        statement: `CREATE ROLE ${name} LOGIN REPLICATION PASSWORD '<password>'`,
      }
    : {
        ...base,
        isMet: false,
        text: `The login ${user} of ${setting} has no REPLICATION.`,
        statement: `ALTER ROLE ${name} REPLICATION`,
      }
}

function met(text: string): Requirement {
  return { isMet: true, text, statement: null, needsRestart: false }
}

function unmet(text: string, statement: string | null = null): Requirement {
  return { isMet: false, text, statement, needsRestart: statement !== null }
}

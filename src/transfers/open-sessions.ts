import { type Claim, SESSION_PREFIX, sessionName } from '../model/claim.js'
import { onSide } from '../postgres/errors.js'
import type { SessionOpener } from '../postgres/kept-sessions.js'
import { kept } from '../postgres/kept-statements.js'
import { READ_ONLY, type Session } from '../postgres/session.js'
import type { SourceClock } from '../sources/postgres/horizon.js'
import type { Resources } from './resources.js'

export interface SessionOptions {
  readonly claim: Claim
  readonly signal: AbortSignal
  readonly sessions: SessionOpener
  /** For the source; not given: the same. */
  readonly sourceSessions?: SessionOpener
  /** Null: the source is read through the session of the target. */
  readonly sourceUrl: string | null
  /** The database of the checkpoint. */
  readonly url: string
  /** Rows and checkpoint are committed together. */
  readonly isTransactional: boolean
  readonly resources: Resources
  /** The application_name of the sessions; not given: that of the run. */
  readonly name?: string
}

/** The sessions of an attempt; they are the same one if source and target are one database. */
export interface OpenSessions {
  readonly source: Session
  readonly session: Session
}

export async function openSession(
  options: SessionOptions,
  address: string,
  purpose: 'source' | 'target',
): Promise<Session> {
  const { claim, signal, sessions, sourceSessions = sessions, resources, name = sessionName(claim) } = options
  const opener = purpose === 'source' ? sourceSessions : sessions
  return resources.add(await opener.open(address, { name, purpose }, signal))
}

export async function openSessions(options: SessionOptions): Promise<OpenSessions> {
  const { sourceUrl, url, isTransactional } = options
  const side = isTransactional ? 'target' : 'meta store'
  const session = await onSide(side, `Connecting to the ${side}`, () => openSession(options, url, 'target'))
  const source =
    sourceUrl === null
      ? session
      : await onSide('source', 'Connecting to the source', () => openSession(options, sourceUrl, 'source'))
  return { source, session }
}

/** What a run does first in both sessions. */
export async function prepareSessions({ source, session }: OpenSessions, claim: Claim): Promise<SourceClock> {
  if (source === session) return endPredecessors(session, claim)
  const [clock] = await Promise.all([
    endPredecessors(source, claim),
    endPredecessors(session, claim),
    source.run(READ_ONLY),
  ])
  return clock
}

/**
 * A frozen predecessor may still hold locks in an open transaction. It cannot commit any more, but waiting for it takes
 * seconds, and ending its sessions takes 12 ms. Sessions of a successor are left alone: this runner may be the frozen one.
 * Returns the time as well.
 */
async function endPredecessors(session: Session, claim: Claim): Promise<SourceClock> {
  const [row] = await session.rows(END_PREDECESSORS, [`${SESSION_PREFIX}${claim.pipeline.id}/`, claim.fence])
  return { now: row!.now!, readAt: performance.now() }
}

const END_PREDECESSORS = kept(
  `SELECT clock_timestamp()::text AS now, (SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE starts_with(application_name, $1) AND split_part(application_name, '/', 2)::bigint < $2 AND usename = current_user)`,
)

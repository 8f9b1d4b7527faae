import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { failpoint } from '../model/failpoints.js'
import { MemberFailure } from '../model/member-failure.js'
import { finalTarget } from '../model/pipeline.js'
import type { GroupTransfer, Transfer } from '../ports/transfer.js'
import { onSide } from '../postgres/errors.js'
import type { SessionOpener } from '../postgres/kept-sessions.js'
import type { Session } from '../postgres/session.js'
import { quoteLiteral } from '../sql/identifiers.js'
import type { GroupBatches } from './group-batches.js'
import type { ChosenRoute } from './routes/choose-route.js'
import { batchError } from './run-batches.js'
import type { Resources } from './sides.js'

/** It is idle while another session works. */
const WITHOUT_TIMEOUT = 'SET idle_in_transaction_session_timeout = 0'

/**
 * The sessions that the members of a group share: one for the database of their marts, one for each source. Members are
 * prepared before the transactions begin; from then on each session sees one snapshot.
 */
export class GroupSessions {
  readonly #kept: SessionOpener
  readonly #name: string
  readonly #sources = new Map<string, Session>()
  /** Sources that are the database of the marts, read with another login. */
  readonly #sameSnapshot = new Set<string>()
  #target: Session | null = null

  constructor(kept: SessionOpener, name: string) {
    this.#kept = kept
    this.#name = name
  }

  /** The names that members give their sessions are not used: the group has its own. */
  readonly ofTarget: SessionOpener = {
    open: async (url, { purpose }, signal) => {
      this.#target ??= await this.#kept.open(url, { name: this.#name, purpose }, signal)
      return this.#target
    },
  }

  readonly ofSources: SessionOpener = {
    open: async (url, { purpose }, signal) => {
      const found =
        this.#sources.get(url) ?? (await this.#kept.open(url, { name: this.#name, purpose }, signal))
      this.#sources.set(url, found)
      return found
    },
  }

  shareSnapshot(sourceUrl: string): void {
    this.#sameSnapshot.add(sourceUrl)
  }

  /** Returns the session of the marts. */
  async begin(): Promise<Session> {
    const target = this.#target
    if (target === null) throw new Error('A group has at least one member.')
    const snapshot = await onSide('target', 'Beginning the transaction of the group', () => begin(target))
    await onSide('source', 'Taking a snapshot', async () => {
      for (const [url, session] of this.#sources) {
        const same = this.#sameSnapshot.has(url) ? `SET TRANSACTION SNAPSHOT ${quoteLiteral(snapshot)};` : ''
        await session.run(
          `${WITHOUT_TIMEOUT}; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${same} SELECT 1`,
        )
      }
    })
    return target
  }

  async end(): Promise<void> {
    for (const session of [this.#target, ...this.#sources.values()])
      await session?.run('ROLLBACK').catch(() => {})
  }
}

/** Returns the snapshot that the first statement takes. */
async function begin(target: Session): Promise<string> {
  await target.run(`${WITHOUT_TIMEOUT}; BEGIN ISOLATION LEVEL REPEATABLE READ; SET CONSTRAINTS ALL IMMEDIATE`)
  return (await target.row<{ id: string }>('SELECT pg_export_snapshot() AS id')).id
}

/** A member that is prepared. */
export interface GroupAttempt {
  readonly claim: Claim
  readonly batches: GroupBatches
  readonly open: () => Promise<Transfer>
}

interface GroupParts {
  readonly members: readonly GroupAttempt[]
  readonly sessions: GroupSessions
  /** The session of the marts. */
  readonly target: Session
  readonly resources: Resources
}

/**
 * The transaction of a group. It is REPEATABLE READ, so that every member reads the same snapshot and, besides, what the
 * members before it have written. Nothing in it touches a row of the meta store that another process changes meanwhile,
 * apart from the checkpoints: a lease that was renewed since the snapshot would make it fail. So history and leases are
 * written just before the commit by another session, as for a mart in another database.
 */
export class OpenGroup implements GroupTransfer {
  readonly #parts: GroupParts

  constructor(parts: GroupParts) {
    this.#parts = parts
  }

  async open(claim: Claim): Promise<Transfer> {
    const { target, members } = this.#parts
    // The tables of the member before.
    await target.run('DISCARD TEMP')
    return members.find((member) => member.claim.runId === claim.runId)!.open()
  }

  async publish(): Promise<void> {
    const { target, members } = this.#parts
    failpoint('group.computed')
    // Locked from here on: a successor waits for this commit, or its fence is seen.
    for (const { batches } of members) await batches.move()
    failpoint('checkpoint.moved')
    for (const { batches } of members) await batches.record()
    failpoint('lease.renewed')
    await target.run('COMMIT').catch((error) => {
      throw batchError(error)
    })
    failpoint('batch.committed')
    for (const { batches } of members) await batches.committed()
  }

  async close(): Promise<void> {
    await this.#parts.sessions.end()
    await this.#parts.resources.close()
  }
}

/** Throws if a pipeline cannot be a member. The API rejects it before; with SQL anything can be configured. */
export function requireGroupable(claim: Claim, choose: () => ChosenRoute): TableRoute {
  const { pipeline } = claim
  try {
    const route = choose()
    if (route.sink === null) return { way: route.way }
    throw new VitrinaError(
      'GROUP_UNSUPPORTED',
      `consistency: group publishes tables of PostgreSQL, and the target of pipeline "${pipeline.name}" is ${finalTarget(pipeline)}.`,
      'Set consistency to none, or choose a table as target.',
      { field: 'consistency' },
    )
  } catch (error) {
    throw error instanceof VitrinaError ? new MemberFailure(claim, error) : error
  }
}

type TableRoute = Pick<ChosenRoute, 'way'>

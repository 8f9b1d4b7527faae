import { setTimeout as delay } from 'node:timers/promises'
import { CAPTURE_FAILPOINTS, type Failpoint } from '../../src/model/failpoints.js'
import type { SeededRandom } from '../../src/scopes/corpus/seeded-random.js'
import type { TestDatabase } from '../support/database.js'
import { isStopped } from '../support/proc.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { type Patch, PROBED, patchedBy, SCOPES_ONLY } from './patches.js'

/** What runners went through. */
export interface Strikes {
  kills: number
  /** Of these, at a failpoint. */
  failpoints: number
  freezes: number
  cuts: number
  lostSlots: number
}

export interface FleetOptions {
  readonly main: TestDatabase
  readonly source: TestDatabase
  readonly env: Record<string, string>
  readonly random: SeededRandom
  readonly runners: number
  readonly patches: readonly Patch[]
  readonly strikes: Strikes
  readonly mostLostSlots: number
}

export const BLOWS = ['kill', 'freeze', 'cut', 'drop the slot', 'kill', 'kill'] as const
export type Blow = (typeof BLOWS)[number]

/** Those that a run passes which computes some scopes, or all rows at once. */
const PASSED: readonly Failpoint[] = [
  ...(['run.claimed', 'run.prepared', 'fence.taken', 'batch.begun', 'checkpoint.moved'] as const),
  ...(['lease.renewed', 'batch.committed', 'run.finishing'] as const),
]

/** Longer than a lease, so that another runner takes over before a frozen one wakes up. */
const FROZEN_MS = 3_000
const KILLED = 137

interface Member {
  readonly process: SpawnedVitrina
  readonly isArmed: boolean
  frozenSince: number | null
  /** Killed from outside, not at a failpoint. */
  isStruck: boolean
}

/** Runners and captors as processes. A dead one is replaced at once, half of them with a failpoint that will stop them. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #members = new Set<Member>()
  #isOver = false
  #started = 0
  output = ''

  constructor(options: FleetOptions) {
    this.#options = options
    for (let n = 0; n < options.runners; n++) this.#start()
  }

  async strike(blow: Blow): Promise<void> {
    const { strikes, mostLostSlots } = this.#options
    if (blow === 'freeze') this.#freeze()
    else if (blow === 'cut') await this.#cut()
    else if (blow === 'drop the slot' && strikes.lostSlots < mostLostSlots) await this.#dropSlot()
    else this.#kill()
  }

  async end(): Promise<void> {
    this.#isOver = true
    for (const member of this.#members) {
      member.isStruck = true
      member.process.kill('SIGKILL')
    }
    await Promise.all([...this.#members].map(({ process }) => process.exited))
  }

  #start(): void {
    const { main, env, patches, random } = this.#options
    this.#started += 1
    const isArmed = random.chance(0.5)
    const probed = this.#started % 2 === 0 ? PROBED : []
    const scopesOnly = this.#started % 4 === 3 ? [] : [SCOPES_ONLY]
    const process = spawnVitrina(['runner'], {
      DATABASE_URL: main.url,
      ...env,
      ...patchedBy([...patches, ...scopesOnly, ...probed]),
      ...(isArmed ? { VITRINA_FAILPOINT: this.#failpoint() } : {}),
      RUNNER_LEASE_SECONDS: '2',
      RUNNER_POLL_INTERVAL_MS: '50',
      RUNNER_CONCURRENCY: '6',
      LOG_LEVEL: 'warn',
    })
    const member: Member = { process, isArmed, frozenSince: null, isStruck: false }
    this.#members.add(member)
    void process.exited.then((code) => this.#ended(member, code))
  }

  #failpoint(): string {
    const { random } = this.#options
    const isCaptor = random.chance(0.4)
    const name = random.pick<string>(isCaptor ? CAPTURE_FAILPOINTS : PASSED)
    return `${name}@${random.int(isCaptor ? 6 : 4)}=${random.chance(0.7) ? 'kill' : 'freeze'}`
  }

  #ended(member: Member, code: number): void {
    const { strikes } = this.#options
    this.#members.delete(member)
    if (code === KILLED) {
      strikes.kills += 1
      if (!member.isStruck) strikes.failpoints += 1
    } else this.output += `exit ${code}: ${member.process.stderr}\n`
    if (!this.#isOver) this.#start()
  }

  /** Resumes those that were frozen long enough, by a blow or at a failpoint. */
  wake(): void {
    const now = performance.now()
    for (const member of this.#members) {
      if (member.frozenSince === null) {
        if (!isStopped(member.process.pid)) continue
        this.#options.strikes.freezes += 1
        member.frozenSince = now
      } else if (now - member.frozenSince > FROZEN_MS) {
        member.frozenSince = null
        member.process.kill('SIGCONT')
      }
    }
  }

  #victim(): Member {
    return this.#options.random.pick([...this.#members])
  }

  #kill(): void {
    const victim = this.#victim()
    victim.isStruck = true
    victim.process.kill('SIGKILL')
  }

  #freeze(): void {
    const victim = this.#victim()
    if (victim.frozenSince !== null) return
    this.#options.strikes.freezes += 1
    victim.frozenSince = performance.now()
    victim.process.kill('SIGSTOP')
  }

  /** Ends sessions of runners and captors on both sides. */
  async #cut(): Promise<void> {
    const { main, source, strikes } = this.#options
    strikes.cuts += 1
    for (const database of new Set([main, source]))
      await database.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND starts_with(application_name, 'vitrina') AND random() < 0.4`,
      )
  }

  /** As another user of the source might. */
  async #dropSlot(): Promise<void> {
    const { source, strikes } = this.#options
    for (let tries = 0; tries < 100; tries++) {
      try {
        const dropped = await source
          .query(
            `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active_pid IS NOT NULL AND database = current_database()`,
          )
          .then(() =>
            source.query(
              'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = current_database()',
            ),
          )
        if (dropped.length > 0) strikes.lostSlots += 1
        return
      } catch {
        await delay(20)
      }
    }
  }
}

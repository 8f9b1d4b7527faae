import type { RunnerInfo, StalledRun } from '../model/claim.js'

export interface RunnerRegistry {
  /** A heartbeat, shown in the list of runners. */
  heartbeat(runner: RunnerInfo): Promise<void>
  gone(runnerId: string): Promise<void>
  /** Marks queued runs that no live runner takes. Each is returned once, to one runner. */
  markStalled(): Promise<StalledRun[]>
}

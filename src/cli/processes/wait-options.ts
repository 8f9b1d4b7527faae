import type { Telemetry } from '../../main/telemetry.js'
import type { WaitOptions } from '../../main/wait-for-database.js'

export const WAIT_HELP = 'how long to wait for a database that is not reachable or not migrated yet'

export interface WaitFlags {
  /** Seconds. */
  readonly wait?: number
}

/** For a process that keeps running: what it waits for is one line of its log. */
export function waitOptions(seconds: number, { log }: Telemetry, signal: AbortSignal): WaitOptions {
  return {
    ms: seconds * 1000,
    signal,
    onWait: (reason) => log.warn('Waiting for the database and its migrations.', { reason }),
  }
}

import type { ConnectionReport } from '../model/connection.js'

/** The servers known to this process. */
export interface Connections {
  /** Tests all of them in parallel, each for a few seconds at most. Changes nothing, throws nothing. */
  test(): Promise<readonly ConnectionReport[]>
}

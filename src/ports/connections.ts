import type { ConnectionReport } from '../model/connection.js'

/** The servers that this process knows. */
export interface Connections {
  /** Tries each of them, all at once and none for longer than a few seconds. Changes nothing, throws nothing. */
  look(): Promise<readonly ConnectionReport[]>
}

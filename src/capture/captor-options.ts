import type { CaptureEvents } from '../telemetry/capture-events.js'
import type { Signals } from './signals.js'
import type { TransactionLimits } from './transaction-builder.js'

export interface CaptorOptions {
  /** The id of the head in etl.etl_change_heads. */
  readonly head: number
  readonly mainUrl: string
  /** A login with REPLICATION; direct, or through a pooler that keeps sessions. */
  readonly sourceUrl: string
  /** The runner. */
  readonly owner: string
  readonly leaseSeconds: number
  /** The slot is given up when the source keeps more WAL for it; the log keeps no entries that are further behind. */
  readonly keepBytes: number
  readonly signals: Signals
  readonly events: CaptureEvents
  /** By default the stream, and SQL where a pooler refuses it. */
  readonly way?: 'stream' | 'peek'
  readonly limits?: TransactionLimits
}

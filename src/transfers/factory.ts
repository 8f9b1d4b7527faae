import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { finalTarget, type Way } from '../model/pipeline.js'
import { isAllowedTarget, type TargetRules } from '../model/target.js'
import type { Ledger, Transfer, TransferFactory } from '../ports/transfer.js'
import { connectionUrl } from '../postgres/connections.js'
import { PostgresTransfer } from './postgres-transfer.js'

export interface TransferSettings {
  /** How the main database is read and written. */
  readonly readerUrl: string
  readonly writerUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules
  /** What a source query may read. */
  readonly sourceSchemas: readonly string[]
  /** For tests and benches: the way to take, whether or not a faster one is possible. */
  readonly way?: Way
}

export class Transfers implements TransferFactory {
  readonly #settings: TransferSettings

  constructor(settings: TransferSettings) {
    this.#settings = settings
  }

  open(claim: Claim, ledger: Ledger, signal: AbortSignal): Transfer {
    const { pipeline } = claim
    const target = finalTarget(pipeline)
    if (!isAllowedTarget(target, this.#settings.targets)) {
      throw new VitrinaError(
        'TARGET_REFUSED',
        `"${target}" is not among the targets that are allowed (${this.#settings.targets.tables.join(', ')}).`,
        'Choose an allowed target, or have an administrator extend ALLOWED_TARGET_TABLES.',
      )
    }
    const { sourceConnection, targetConnection } = pipeline
    const { connections, readerUrl, writerUrl } = this.#settings
    return new PostgresTransfer({
      claim,
      ledger,
      signal,
      addresses: {
        source: connectionUrl(connections, sourceConnection, readerUrl),
        target: connectionUrl(connections, targetConnection, writerUrl),
        together: sourceConnection === targetConnection,
        isMain: targetConnection === null,
      },
      sourceSchemas: this.#settings.sourceSchemas,
      transform: null,
      way: this.#settings.way ?? null,
    })
  }
}

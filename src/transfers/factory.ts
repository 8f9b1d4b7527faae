import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import { finalTarget, hasTransforms, type Way } from '../model/pipeline.js'
import { allowedInstead, isAllowedTarget, kindOf, type TargetRules } from '../model/target.js'
import { requirePlan } from '../model/task-plan.js'
import type { SinkKind } from '../ports/sink.js'
import type { Ledger, Transfer, TransferFactory } from '../ports/transfer.js'
import type { TransformHosts } from '../ports/transforms.js'
import { connectionUrl } from '../postgres/connections.js'
import type { SourceRules } from './examine.js'
import { PostgresTransfer } from './postgres-transfer.js'
import { type Destination, SinkDestination, TableDestination } from './rows/destination.js'
import { RowsTransfer } from './rows/transfer.js'

export interface TransferSettings {
  /** How the main database is read and written. */
  readonly readerUrl: string
  readonly writerUrl: string
  readonly connections: ReadonlyMap<string, string>
  readonly targets: TargetRules<SinkKind>
  readonly transforms: TransformHosts
  readonly rules: SourceRules
  /** For tests and benches: the way to take, whether or not a faster one is possible. */
  readonly way?: Way
}

export class Transfers implements TransferFactory {
  readonly #settings: TransferSettings

  constructor(settings: TransferSettings) {
    this.#settings = settings
  }

  open(claim: Claim, ledger: Ledger, signal: AbortSignal): Transfer {
    const { targets, rules, transforms, way } = this.#settings
    const { pipeline } = claim
    requirePlan(pipeline)
    const target = finalTarget(pipeline)
    requireAllowed(target, targets)
    const source = this.#url(pipeline.sourceConnection, this.#settings.readerUrl)
    const rows = (destination: Destination) =>
      new RowsTransfer({ claim, ledger, signal, sourceUrl: source, rules, transforms }, destination)
    const sink = kindOf(target, targets)
    if (sink !== null)
      return rows(
        new SinkDestination(claim, sink.kind, {
          url: this.#settings.writerUrl,
          hold: { signal, requireLease: ledger.requireLease },
        }),
      )
    const isMain = pipeline.targetConnection === null
    const url = this.#url(pipeline.targetConnection, this.#settings.writerUrl)
    if (hasTransforms(pipeline) || way === 'rows') return rows(new TableDestination(claim, { url, isMain }))
    return new PostgresTransfer({
      claim,
      ledger,
      signal,
      addresses: {
        source,
        target: url,
        together: pipeline.sourceConnection === pipeline.targetConnection,
        isMain,
      },
      rules,
      way: way ?? null,
    })
  }

  #url(connection: string | null, main: string): string {
    return connectionUrl(this.#settings.connections, connection, main)
  }
}

function requireAllowed(target: string, targets: TargetRules): void {
  if (isAllowedTarget(target, targets)) return
  const { setting, names } = allowedInstead(target, targets)
  throw new VitrinaError(
    'TARGET_REFUSED',
    `"${target}" is not among the targets that are allowed (${names.join(', ')}).`,
    `Choose an allowed target, or have an administrator extend ${setting}.`,
  )
}

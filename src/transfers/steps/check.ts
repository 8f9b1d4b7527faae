import { CheckFailure, checkMart, failureOf, rowResult } from '../../checks/index.js'
import { type CheckResult, isFatal } from '../../model/check.js'
import { finalTarget } from '../../model/pipeline.js'
import type { Step } from '../../ports/transfer.js'
import { onSide } from '../../postgres/errors.js'
import { parseTable, quoteTable } from '../../sql/identifiers.js'
import type { Attempt } from '../attempt.js'
import type { MartChange } from '../marts/mart.js'

/**
 * The last step of a run: evaluates the checks of the mart, unless the mart was replaced and they were evaluated before
 * it was published, and records the checks of rows that no row failed. The batches of the run are committed: a check
 * that fails here ends the run as FAILED, and the checkpoint stays where they left it. Those of a group are not: nothing
 * of it is published.
 */
export class CheckStep implements Step {
  readonly name = 'checks'
  readonly #attempt: Attempt<unknown>
  #done = false

  constructor(attempt: Attempt<unknown>) {
    this.#attempt = attempt
  }

  async next(): Promise<null> {
    if (this.#done) return null
    this.#done = true
    const { checks, batches, ledger, claim } = this.#attempt
    const passed = checks.rows.map((one) => rowResult(one, NOTHING_FAILED, 'batch'))
    const found = batches.isDone('replace') ? [] : await this.#evaluate()
    const fatal = found.filter(isFatal)
    const note = () => ledger.checked([...passed, ...found], { batch: null, session: null })
    if (fatal.length === 0) {
      await batches.afterCommit(note)
      return null
    }
    await note()
    throw failureOf(fatal, finalTarget(claim.pipeline))
  }

  async #evaluate(): Promise<CheckResult[]> {
    const { session, checks, batches } = this.#attempt
    if (checks.mart.length === 0) return []
    if (batches.inGroup) return martResults(this.#attempt)
    await session.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    try {
      return await martResults(this.#attempt)
    } finally {
      await session.run('ROLLBACK').catch(() => {})
    }
  }
}

const NOTHING_FAILED = { failedRows: 0, sample: [], durationMs: 0 }

/** Called in the transaction that publishes a mart, after its rows were changed: if a check fails, the old mart stays. */
export async function withMartChecks(attempt: Attempt<unknown>, change: MartChange): Promise<MartChange> {
  const { checks, claim } = attempt
  if (checks.mart.length === 0) return change
  const results = await martResults(attempt)
  const all = [...(change.checks ?? []), ...results]
  const fatal = results.filter(isFatal)
  if (fatal.length > 0) throw new CheckFailure(failureOf(fatal, finalTarget(claim.pipeline)), all)
  return { ...change, checks: all }
}

function martResults({ session, checks, claim, examined, ledger }: Attempt<unknown>): Promise<CheckResult[]> {
  const table = quoteTable(parseTable(finalTarget(claim.pipeline)))
  const key = examined.key.map(({ name }) => name)
  const mart = { session, table, key, usual: (name: string) => ledger.usualRows(name) }
  return onSide('target', 'Checking the mart', () => checkMart(mart, checks.mart))
}

import { erroneous, failingRows, keyText, type RowCheck, rowResult } from '../../checks/index.js'
import { type Check, type CheckResult, SAMPLE_SIZE } from '../../model/check.js'
import { databaseError } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import { type Column, columnList } from '../../sql/selection.js'
import { isPoison } from '../../sql/sqlstate.js'

/** The rows of a batch with numbers. */
export const SIFTED = 'pg_temp.vitrina_checked'
const FAILING = 'pg_temp.vitrina_failing'

interface SieveParts {
  readonly session: Session
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly checks: readonly RowCheck[]
}

/** A row that is quarantined, and the first check that it fails. */
export interface SetAside {
  readonly number: number
  readonly check: Check
}

export interface Sifted {
  readonly results: readonly CheckResult[]
  /** The rows that are to be written, as a relation called `batch`. */
  readonly kept: string
  readonly refused: readonly SetAside[]
}

/** Stores the rows of a batch in a temporary table and evaluates each check on them. For batches with bad rows. */
export class RowSieve {
  readonly #parts: SieveParts

  constructor(parts: SieveParts) {
    this.#parts = parts
  }

  async sift(relation: string): Promise<Sifted> {
    const { session, checks } = this.#parts
    await session.run(`DROP TABLE IF EXISTS ${SIFTED}, ${FAILING}`)
    const rows = `SELECT row_number() OVER () AS vitrina_n, batch.* FROM ${relation}`
    await session.run(`CREATE TEMP TABLE vitrina_checked AS ${rows}`).catch((error: unknown) => {
      throw databaseError(error, 'The source query fails on a row', 'source')
    })
    await session.run('CREATE TEMP TABLE vitrina_failing (n bigint, place integer)')
    const results: CheckResult[] = []
    for (const [place, check] of checks.entries()) results.push(await this.#evaluated(check, place))
    return { results, ...(await this.#sorted()) }
  }

  async close(): Promise<void> {
    await this.#parts.session.run(`DROP TABLE IF EXISTS ${SIFTED}, ${FAILING}`)
  }

  async #evaluated(one: RowCheck, place: number): Promise<CheckResult> {
    const { session, key } = this.#parts
    const began = performance.now()
    await session.run('SAVEPOINT checked')
    try {
      const failing = failingRows(one, `${SIFTED} AS batch`)
      const failedRows = await session.count(
        `INSERT INTO ${FAILING} SELECT batch.vitrina_n, ${place} FROM ${failing}`,
      )
      const keys =
        failedRows === 0
          ? []
          : await session.rows(
              `SELECT ${keyText(key)} AS key FROM ${SIFTED} AS batch
                WHERE vitrina_n IN (SELECT n FROM ${FAILING} WHERE place = ${place}) ORDER BY vitrina_n LIMIT ${SAMPLE_SIZE}`,
            )
      await session.run('RELEASE checked')
      const sample = keys.map(({ key: text }) => text ?? 'NULL')
      return rowResult(one, { failedRows, sample, durationMs: performance.now() - began }, 'batch')
    } catch (error) {
      if (!isPoison(error)) throw error
      await session.run('ROLLBACK TO checked; RELEASE checked')
      return erroneous(one, error, { over: 'batch', durationMs: performance.now() - began })
    }
  }

  async #sorted(): Promise<Omit<Sifted, 'results'>> {
    const { session, columns, checks } = this.#parts
    const places = checks.flatMap(({ check }, place) => (check.on_failure === 'quarantine' ? [place] : []))
    const selection = `SELECT ${columnList(columns)} FROM ${SIFTED} AS batch`
    if (places.length === 0) return { kept: `(${selection}) AS batch`, refused: [] }
    const among = `FROM ${FAILING} AS failing WHERE failing.place IN (${places.join(', ')})`
    const rows = await session.rows(
      `SELECT failing.n, min(failing.place)::text AS place ${among} GROUP BY failing.n ORDER BY failing.n`,
    )
    return {
      kept: `(${selection} WHERE vitrina_n NOT IN (SELECT failing.n ${among})) AS batch`,
      refused: rows.map(({ n, place }) => ({
        number: Number(n),
        check: checks[Number(place)]!.check,
      })),
    }
  }
}

import { CheckFailure } from '../../checks/index.js'
import { type Check, type CheckResult, failureText } from '../../model/check.js'
import { cutText } from '../../model/cut-text.js'
import { VitrinaError } from '../../model/errors.js'
import { heldLengths, quarantineKey, truncatedValue } from '../../model/quarantine.js'
import type { RefusedRow } from '../../model/run.js'
import type { Session } from '../../postgres/session.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import type { TextValues } from '../../sql/copy-text.js'
import { quoteIdentifier } from '../../sql/identifiers.js'
import { columnList } from '../../sql/selection.js'
import { sqlstateOf } from '../../sql/sqlstate.js'
import { SIFTED } from './row-sieve.js'

/** A server may quote a value of any size. */
const MAX_REASON = 4_000

/** Why a server rejected a row. */
export function reasonOf(answer: string): string {
  return cutText(answer, MAX_REASON)
}

/** A rejected row with these columns and this key. */
export function rejectedRow(
  {
    columns,
    key,
  }: { readonly columns: readonly { readonly name: string }[]; readonly key: readonly string[] },
  texts: TextValues,
): Pick<RefusedRow, 'key' | 'columns' | 'texts'> {
  const names = columns.map((column) => column.name)
  const keyValues = key.map((column) => texts[names.indexOf(column)] ?? null)
  return { key: quarantineKey(keyValues, texts), columns: names, texts }
}

/** The rows of a batch with numbers, while it is bisected. */
export const NUMBERED = 'pg_temp.vitrina_sift'

interface RefusedRowsParts {
  readonly session: Session
  readonly table: TargetTable
  readonly quarantineLimit: number
  /** Rows that earlier batches of the run have quarantined. */
  readonly refusedSoFar: number
}

/** Reads the values of rows that the table or a check refuses, for the quarantine, and enforces its limit. */
export class RefusedRows {
  readonly #parts: RefusedRowsParts
  #count: number

  constructor(parts: RefusedRowsParts) {
    this.#parts = parts
    this.#count = parts.refusedSoFar
  }

  /** In this run, up to now. */
  get count(): number {
    return this.#count
  }

  /** The rows since then were rolled back. */
  rewind(count: number): void {
    this.#count = count
  }

  /** The row with this number in `NUMBERED`. */
  async byTable(number: number, error: unknown): Promise<RefusedRow> {
    const row = await this.#row(number, NUMBERED)
    const reason = reasonOf((error as Error).message)
    this.#count += 1
    if (this.#count > this.#parts.quarantineLimit) throw this.#tooMany(`${row.key}): ${reason}`, error)
    return { ...row, reason, sqlstate: sqlstateOf(error) }
  }

  /** The row with this number in `SIFTED`. `results` are those of the batch. */
  async byCheck(number: number, check: Check, results: readonly CheckResult[]): Promise<RefusedRow> {
    const row = await this.#row(number, SIFTED)
    this.#count += 1
    if (this.#count > this.#parts.quarantineLimit)
      throw new CheckFailure(this.#tooMany(`${row.key}): check "${check.name}" failed`), results)
    const reason = `Check "${check.name}" failed: ${failureText(check)}`
    return { ...row, reason, sqlstate: null, check: check.name }
  }

  async #row(number: number, table: string): Promise<ReturnType<typeof rejectedRow>> {
    return rejectedRow(this.#parts.table, await this.#textsOf(number, table))
  }

  /** `last`: the key of the last row and why it was refused. */
  #tooMany(last: string, cause?: unknown): VitrinaError {
    const { table, quarantineLimit } = this.#parts
    const { columns, name } = table
    return new VitrinaError(
      'ROWS_REFUSED',
      `${name.schema}.${name.table} rejected ${this.#count} row${this.#count === 1 ? '' : 's'} in this run, more than quarantine_limit allows (${quarantineLimit}). The last one has the key (${last}.`,
      `Compare the columns (${columnList(columns)}) with the constraints and the checks of the mart, or raise quarantine_limit.`,
      cause === undefined ? {} : { cause, sqlstate: sqlstateOf(cause) ?? 'XX000' },
    )
  }

  /** The values of a rejected row. Their lengths come first: a row of a gigabyte does not fit into a message. */
  async #textsOf(number: number, table: string): Promise<(string | null)[]> {
    const { session, table: target } = this.#parts
    const { columns, key } = target
    const values = columns.map(({ name, type }) => new StoredValue(quoteIdentifier(name), type))
    const select = async (expressions: readonly string[]): Promise<(string | null)[]> => {
      const selected = expressions.map((expression, index) => `${expression} AS c${index}`)
      const [row = {}] = await session.rows(
        `SELECT ${selected.join(', ')} FROM ${table} WHERE vitrina_n = ${number}`,
      )
      return expressions.map((_, index) => row[`c${index}`] ?? null)
    }
    const lengths = (await select(values.map((value) => value.length))).map(Number)
    const kept = heldLengths(
      lengths,
      columns.map(({ name }) => key.includes(name)),
    )
    const isWhole = (index: number) => kept[index] === lengths[index]
    const texts = await select(values.map((value, n) => (isWhole(n) ? value.text : value.start(kept[n]!))))
    if (lengths.every((_, n) => isWhole(n))) return texts
    const digests = await select(values.map((value, n) => (isWhole(n) ? 'NULL' : value.digest)))
    return texts.map((text, n) =>
      isWhole(n) ? text : truncatedValue(text ?? '', lengths[n]!, digests[n] ?? ''),
    )
  }
}

/** Expressions about the value of a column, for a row that may be larger than a message or than a text. */
class StoredValue {
  readonly #column: string
  readonly #isBytes: boolean

  constructor(column: string, type: string) {
    this.#column = column
    this.#isBytes = type === 'bytea'
  }

  get text(): string {
    return `${this.#column}::text`
  }

  /** Two digits for each byte after the prefix: the text of half a gigabyte of bytes is longer than a text may be. */
  get length(): string {
    const length = this.#isBytes ? `2 + 2 * octet_length(${this.#column})::bigint` : `length(${this.text})`
    return `coalesce(${length}, 0)`
  }

  start(characters: number): string {
    const value = this.#isBytes ? `substr(${this.#column}, 1, ${characters})::text` : this.text
    return `left(${value}, ${characters})`
  }

  get digest(): string {
    const bytes = this.#isBytes ? this.#column : `convert_to(${this.text}, 'UTF8')`
    return `encode(sha256(${bytes}), 'hex')`
  }
}

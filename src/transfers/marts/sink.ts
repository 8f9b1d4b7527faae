import {
  type CheckedBatch,
  CheckFailure,
  checkRowBatch,
  failureOf,
  type RowCheck,
} from '../../checks/index.js'
import { requireBelowBrake } from '../../model/brake.js'
import { type CheckResult, failureText, isFatal } from '../../model/check.js'
import { ERRORS, type ErrorCode, VitrinaError } from '../../model/errors.js'
import { isReplaced, type Pipeline } from '../../model/pipeline.js'
import { heldTexts } from '../../model/quarantine.js'
import { NO_ROWS, type RefusedRow } from '../../model/run.js'
import type { Finding } from '../../model/validation.js'
import type {
  BatchId,
  PartBatchId,
  Parting,
  RejectedRow,
  Removal,
  Sink,
  WriteResult,
} from '../../ports/sink.js'
import { onSide } from '../../postgres/errors.js'
import type { Session } from '../../postgres/session.js'
import type { OpenedSink } from '../../sinks/open.js'
import type { TextValues } from '../../sql/copy-text.js'
import { RowBatch } from '../../sql/row-batch.js'
import type { Column } from '../../sql/selection.js'
import {
  deletedRows,
  type FoundMart,
  type MartChange,
  type MartReplacement,
  NO_CHANGE,
  type RemovalWithin,
  type RowMart,
  type Scopes,
} from './mart.js'
import { reasonOf, rejectedRow } from './refused-rows.js'

/** What is behind a sink that was opened for a pipeline. */
export async function findInSink(
  { sink, key }: OpenedSink,
  pipeline: Pipeline,
): Promise<FoundMart<OpenedSink>> {
  const { errors, exists } = await sink.examine()
  const [first] = errors
  if (first !== undefined) throw asError(first, errors)
  return {
    key,
    create: async () => {
      await sink.prepare()
      // A mart that every run builds from scratch has no checkpoint that could refer to an older one.
      const isTracked = !isReplaced(pipeline)
      const identity = isTracked ? ((await sink.identity?.()) ?? null) : null
      return { mart: { sink, key }, identity, isNew: isTracked && !exists }
    },
  }
}

function asError({ code, hint }: Finding, errors: readonly Finding[]): VitrinaError {
  const known: ErrorCode = Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'TARGET_MISMATCH'
  return new VitrinaError(known, errors.map((error) => error.message).join(' '), hint)
}

interface SinkMartParts {
  readonly sink: Sink
  /** The address as the pipeline has it. */
  readonly target: string
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly runId: string
  readonly quarantineLimit: number
  readonly refusedSoFar: number
  readonly checks: readonly RowCheck[]
  /** Where checks are evaluated. */
  readonly session: Session
}

/** A mart behind a sink. Rejected rows are counted here, so that no sink has to know about the quarantine. */
export class SinkMart implements RowMart {
  readonly #parts: SinkMartParts
  #refusedSoFar: number

  constructor(parts: SinkMartParts) {
    this.#parts = parts
    this.#refusedSoFar = parts.refusedSoFar
  }

  readonly publish = (marks: readonly string[], id: BatchId): Promise<void> =>
    this.#parts.sink.publish(marks, id)

  async write(batch: RowBatch, id: BatchId): Promise<MartChange> {
    return this.#checked(batch, async (rows) => this.#written(rows, await this.#parts.sink.write(rows, id)))
  }

  /** Evaluates the checks before anything is sent, and leaves out the rows that are to be set aside. */
  async #checked(batch: RowBatch, write: (rows: RowBatch) => Promise<MartChange>): Promise<MartChange> {
    const { session, checks, columns, key, target } = this.#parts
    if (batch.count === 0) return NO_CHANGE
    if (checks.length === 0) return write(batch)
    const { results, refused } = await onSide('meta store', 'Checking rows', () =>
      checkRowBatch({ session, columns, key, checks }, batch),
    )
    const fatal = results.filter(isFatal)
    if (fatal.length > 0) throw new CheckFailure(failureOf(fatal, target), results)
    if (results.every(({ status }) => status === 'passed')) return write(batch)
    const rows = this.#setAside(batch, refused, results)
    const kept = RowBatch.ofRows(batch.rows.filter((_, place) => !refused.has(place)))
    const change = kept.count === 0 ? NO_CHANGE : await write(kept)
    const quarantined = change.rows.quarantined + rows.length
    return {
      ...change,
      rows: { ...change.rows, quarantined },
      refused: [...rows, ...change.refused],
      checks: results,
    }
  }

  #setAside(
    batch: RowBatch,
    refused: CheckedBatch['refused'],
    results: readonly CheckResult[],
  ): RefusedRow[] {
    try {
      return [...refused].map(([row, { check }]) => ({
        ...this.#refuse(batch, { row, reason: `Check "${check.name}" failed: ${failureText(check)}` }),
        check: check.name,
      }))
    } catch (error) {
      throw error instanceof VitrinaError ? new CheckFailure(error, results) : error
    }
  }

  async remove(keys: readonly TextValues[], id: BatchId, brake: number): Promise<MartChange> {
    const { sink, target, key } = this.#parts
    const [column] = key
    if (keys.length === 0 || column === undefined) return NO_CHANGE
    if (brake < 1) {
      const { count } = await sink.summary(column)
      requireBelowBrake(target, { deleted: keys.length, size: count, brake })
    }
    return removed(await sink.remove(keys, id))
  }

  findsScopes(columns: readonly string[]): boolean {
    return this.#isWholeKey(columns) || this.#parts.sink.keysWithin !== undefined
  }

  #isWholeKey(columns: readonly string[]): boolean {
    const { key } = this.#parts
    return columns.length === key.length && key.every((name, place) => columns[place] === name)
  }

  async removeWithin(
    { columns, values }: Scopes,
    kept: readonly TextValues[],
    { id, brake }: RemovalWithin,
  ): Promise<MartChange> {
    const names = columns.map(({ name }) => name)
    const scopes = (values[0] ?? []).map((_, index) => values.map((column) => column[index]!))
    const present = this.#isWholeKey(names) ? scopes : await this.#parts.sink.keysWithin!(names, scopes)
    const found = new Set(kept.map((key) => this.#identityOf(key)))
    const absent = present.filter((key) => !found.has(this.#identityOf(key)))
    return absent.length === 0 ? NO_CHANGE : this.remove(absent, id, brake)
  }

  /** Equal for keys that are one row to the sink: 1.0 and 1.00 are, where it stores numbers. */
  #identityOf(key: TextValues): string {
    const { sink, columns, key: names } = this.#parts
    const row = columns.map(({ name }) => (names.includes(name) ? key[names.indexOf(name)]! : null))
    return JSON.stringify(sink.digestOf(row).key)
  }

  async removeAbsent(
    keys: AsyncIterable<readonly TextValues[]>,
    id: BatchId,
    marks: readonly string[],
  ): Promise<MartChange> {
    return removed(await this.#parts.sink.removeAbsent(keys, id, marks))
  }

  async replacement(): Promise<MartReplacement> {
    const replacement = await this.#parts.sink.replacement(this.#parts.runId)
    return {
      isResumable: replacement.isResumable,
      write: (batch, id) =>
        this.#checked(batch, async (rows) => this.#written(rows, await replacement.write(rows, id))),
      publish: async (id, { inserted, updated, unchanged }, marks) => {
        const rewritten = updated + unchanged
        return removed(await replacement.publish(id, { rows: inserted + rewritten, rewritten, marks }))
      },
    }
  }

  /** Null: one process at a time can write the mart. */
  get parting(): Parting | null {
    return this.#parts.sink.parting ?? null
  }

  /** Writes rows of a part, as all of a mart. */
  async partWriter(
    ticket: string | null,
  ): Promise<{ write(batch: RowBatch, id: PartBatchId): Promise<MartChange> }> {
    const parting = this.parting
    if (parting === null || ticket === null) throw new Error('The sink does not write parts.')
    const writer = await parting.open(ticket)
    return {
      write: (batch, id) =>
        this.#checked(batch, async (rows) => this.#written(rows, await writer.write(rows, id))),
    }
  }

  #written(batch: RowBatch, { refused, marks = [], ...counts }: WriteResult): MartChange {
    const { inserted, updated, unchanged, duplicates } = counts
    return {
      rows: { ...NO_ROWS, inserted, updated, unchanged, duplicates, quarantined: refused.length },
      refused: refused.map((row) => this.#refuse(batch, row)),
      marks,
    }
  }

  #refuse(batch: RowBatch, { row, reason: answer }: RejectedRow): RefusedRow {
    const { target, key, quarantineLimit } = this.#parts
    const rejected = rejectedRow(this.#parts, batch.rows[row] ?? [])
    const reason = reasonOf(answer)
    this.#refusedSoFar += 1
    if (this.#refusedSoFar > quarantineLimit) {
      throw new VitrinaError(
        'ROWS_REFUSED',
        `${target} rejected ${this.#refusedSoFar} row${this.#refusedSoFar === 1 ? '' : 's'} in this run, more than quarantine_limit allows (${quarantineLimit}). The last one has the key (${rejected.key}): ${reason}.`,
        'Compare the columns of the query with what the target accepts, or raise quarantine_limit.',
      )
    }
    const isKey = rejected.columns.map((name) => key.includes(name))
    return { ...rejected, texts: heldTexts(rejected.texts, isKey), reason, sqlstate: null }
  }
}

function removed({ deleted, marks = [] }: Removal): MartChange {
  return deletedRows(deleted, marks)
}

import { requireBelowBrake } from '../../model/brake.js'
import { VitrinaError } from '../../model/errors.js'
import { keyText } from '../../model/quarantine.js'
import { NO_ROWS, type RefusedRow, type RowCounts } from '../../model/run.js'
import type { BatchId, Refusal, Removal, Sink, WriteResult } from '../../ports/sink.js'
import type { TextValues } from '../../sql/copy-text.js'
import type { RowBatch } from '../../sql/row-batch.js'
import type { Column } from '../../sql/selection.js'
import type { Mart, MartChange, MartReplacement } from './mart.js'

interface SinkParts {
  readonly sink: Sink
  /** The address as the pipeline has it. */
  readonly target: string
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly runId: string
  readonly quarantineLimit: number
  readonly refusedSoFar: number
}

/** What stands behind a sink. What it refuses is counted here, so that no sink has to know of the quarantine. */
export class SinkMart implements Mart {
  readonly #parts: SinkParts
  #refusedSoFar: number

  constructor(parts: SinkParts) {
    this.#parts = parts
    this.#refusedSoFar = parts.refusedSoFar
  }

  readonly publish = (marks: readonly string[], id: BatchId): Promise<void> =>
    this.#parts.sink.publish(marks, id)

  async write(batch: RowBatch, id: BatchId): Promise<MartChange> {
    if (batch.count === 0) return removed({ deleted: 0 })
    return this.#written(batch, await this.#parts.sink.write(batch, id))
  }

  async remove(keys: readonly TextValues[], id: BatchId, brake: number): Promise<MartChange> {
    if (keys.length === 0) return removed({ deleted: 0 })
    const { sink, target, key } = this.#parts
    if (brake < 1) requireBelowBrake(target, keys.length, (await sink.summary(key[0]!)).count, brake)
    return removed(await sink.remove(keys, id))
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
      write: async (batch, id) =>
        batch.count === 0
          ? removed({ deleted: 0 })
          : this.#written(batch, await replacement.write(batch, id)),
      publish: async (id, { inserted, updated, unchanged }, marks) =>
        removed(
          await replacement.publish(id, {
            rows: inserted + updated + unchanged,
            rewritten: updated + unchanged,
            marks,
          }),
        ),
    }
  }

  #written(
    batch: RowBatch,
    { inserted, updated, unchanged, duplicates, refused, marks }: WriteResult,
  ): MartChange {
    const rows: RowCounts = {
      ...NO_ROWS,
      inserted,
      updated,
      unchanged,
      duplicates,
      quarantined: refused.length,
    }
    return { rows, refused: refused.map((refusal) => this.#refuse(batch, refusal)), marks: marks ?? [] }
  }

  #refuse(batch: RowBatch, { row, reason }: Refusal): RefusedRow {
    const { target, columns, key, quarantineLimit } = this.#parts
    const names = columns.map((column) => column.name)
    const texts = batch.rows[row]!
    const name = keyText(
      key.map((column) => texts[names.indexOf(column)] ?? null),
      texts,
    )
    this.#refusedSoFar += 1
    if (this.#refusedSoFar > quarantineLimit) {
      throw new VitrinaError(
        'ROWS_REFUSED',
        `${target} refused ${this.#refusedSoFar} rows of this run, more than quarantine_limit allows (${quarantineLimit}); the last one has the key (${name}): ${reason}.`,
        'Compare the columns of the query with what the target takes, or raise quarantine_limit.',
      )
    }
    return { key: name, columns: names, texts, reason, sqlstate: null }
  }
}

function removed({ deleted, marks }: Removal): MartChange {
  return { rows: { ...NO_ROWS, deleted }, refused: [], marks: marks ?? [] }
}

import { LEDGER_STATEMENTS } from '../../checkpoints/part-ledger.js'
import type { EngineJob, JobWrite } from '../../model/engine.js'
import type { KeyRange } from '../../model/part.js'
import { SET_SESSION } from '../../postgres/session.js'
import { countedMerge, insertSql, upsertSql } from '../../sinks/postgres/merge.js'
import type { TargetTable } from '../../sinks/postgres/target.js'
import { columnList, orderBy } from '../../sql/selection.js'
import { type Attempt, writingInto } from '../attempt.js'
import { createTemporarySql } from '../marts/table.js'
import { countKeysSql } from '../marts/table-writer.js'
import { MAX_BATCH_BYTES } from '../readers/paged.js'
import { conditionOfRange, queryOfAll, rangeOrder } from './key-ranges.js'
import { PORTION_ROWS } from './part-transfer.js'
import type { SharedSnapshot } from './shared-snapshot.js'

export interface CutParts {
  readonly snapshot: SharedSnapshot
  readonly parts: readonly KeyRange[]
  /** Where `replace` gathers the rows; null: the mart itself is written. */
  readonly into: string | null
  readonly isEmpty: boolean
}

const STAGED = 'pg_temp.vitrina_batch AS batch'

/** Every statement that an engine outside the runners needs for the parts of a run: the same that a runner executes. */
export function engineJob(attempt: Attempt<TargetTable>, cut: CutParts): EngineJob {
  const { claim, examined, chain, isMain } = attempt
  const order = rangeOrder(examined)
  return {
    engine: claim.pipeline.engine,
    isMain,
    settings: SET_SESSION,
    portionRows: PORTION_ROWS,
    portionBytes: MAX_BATCH_BYTES,
    read: {
      from: queryOfAll(examined),
      conditions: cut.parts.map((part) => conditionOfRange(order, part)),
      order: ` ORDER BY ${orderBy(examined.order)}`,
    },
    snapshot: cut.snapshot.id,
    transforms: chain?.segments ?? [],
    write: writeOf(attempt, cut),
    ledger: LEDGER_STATEMENTS,
  }
}

function writeOf(attempt: Attempt<TargetTable>, { into, isEmpty }: CutParts): JobWrite {
  const { mart, columns } = attempt
  const copyInto = (table: string) => `COPY ${table} (${columnList(columns)}) FROM STDIN`
  if (into !== null) return { gather: copyInto(into) }
  const { newestBy } = writingInto(attempt, { isEmpty, refusedSoFar: 0 })
  return {
    gather: null,
    stage: createTemporarySql('vitrina_batch', columns),
    clear: 'TRUNCATE pg_temp.vitrina_batch',
    copy: copyInto('pg_temp.vitrina_batch'),
    mode: isEmpty ? 'fill' : 'upsert',
    fill: insertSql(mart, STAGED),
    upsert: countedMerge(upsertSql(mart, STAGED, null)),
    newest: countedMerge(upsertSql(mart, STAGED, newestBy)),
    count: countKeysSql(mart, STAGED),
  }
}

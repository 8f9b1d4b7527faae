import type { Failpoint } from '../../src/model/failpoints.js'
import { type CountedMart, type CountedOptions, forgetWrites, ITEM_TOTALS } from '../support/counted-mart.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

/** One way to fill a mart, the points of the protocol it passes, and how many rows of the mart it has to write. */
export interface Strategy {
  readonly options: CountedOptions
  /** `name@2` is the second time it is passed: in the middle of the run. */
  readonly points: readonly `${Failpoint}@${number}`[]
  /** Rows that one run writes, updates and deletes together. */
  readonly writes: number
  /** Brings the mart to where the run under test begins. */
  readonly before?: (mart: CountedMart) => Promise<void>
}

const ROWS = 300
const STALE = 40
const GONE = 30

export const STRATEGIES = {
  'full by pages with a sweep': {
    options: { rows: ROWS, paged: true, stale: STALE, gone: GONE, pipeline: { deletes: 'sweep' } },
    points: [
      ...(['run.claimed@1', 'run.prepared@1', 'fence.taken@1', 'batch.begun@1', 'batch.begun@3'] as const),
      ...(['batch.staged@2', 'batch.merged@2', 'checkpoint.moved@2', 'lease.renewed@1'] as const),
      ...(['lease.renewed@3', 'batch.committed@2', 'sweep.deleted@1', 'run.finishing@1'] as const),
    ],
    writes: ROWS + GONE,
  },
  'full into an empty mart': {
    options: { rows: ROWS, paged: true },
    points: [
      'batch.merged@1',
      'batch.merged@3',
      'checkpoint.moved@1',
      'lease.renewed@2',
      'batch.committed@1',
    ],
    writes: ROWS,
  },
  'full in parts with a sweep': {
    options: { rows: ROWS, stale: STALE, gone: GONE, pipeline: { deletes: 'sweep', parallelism: 3 } },
    points: [
      ...(['part.claimed@1', 'part.claimed@3', 'part.read@2', 'part.written@1', 'part.written@3'] as const),
      ...(['part.committed@1', 'part.committed@3', 'parts.finishing@1', 'lease.renewed@1'] as const),
      ...(['batch.committed@1', 'batch.committed@2', 'sweep.deleted@1', 'run.finishing@1'] as const),
    ],
    writes: ROWS + GONE,
  },
  'full in parts into an empty mart': {
    options: { rows: ROWS, pipeline: { parallelism: 4 } },
    points: ['part.read@1', 'part.written@2', 'part.committed@2', 'parts.finishing@1'],
    writes: ROWS,
  },
  'replace in parts': {
    options: { rows: ROWS, stale: STALE, gone: GONE, pipeline: { fullStrategy: 'replace', parallelism: 3 } },
    points: [
      ...(['part.claimed@2', 'part.read@1', 'part.written@2', 'part.committed@2'] as const),
      ...(['parts.finishing@1', 'replace.merged@1', 'batch.committed@1'] as const),
    ],
    writes: ROWS + GONE,
  },
  'full of an aggregate with a sweep': {
    options: {
      rows: ROWS,
      stale: STALE,
      gone: GONE,
      pipeline: { sourceQuery: ITEM_TOTALS, deletes: 'sweep' },
    },
    points: [
      ...([
        'pass.collected@1',
        'batch.begun@2',
        'batch.merged@2',
        'checkpoint.moved@2',
        'lease.renewed@2',
      ] as const),
      ...(['batch.committed@1', 'replace.merged@1', 'run.finishing@1'] as const),
    ],
    writes: ROWS + GONE,
  },
  incremental: {
    options: {
      rows: ROWS,
      paged: true,
      stale: STALE,
      pipeline: { mode: 'incremental', incrementalKey: 'modified', incrementalIdKey: 'id' },
    },
    points: [
      ...([
        'fence.taken@1',
        'batch.begun@2',
        'batch.staged@2',
        'batch.merged@3',
        'checkpoint.moved@2',
      ] as const),
      ...(['lease.renewed@2', 'batch.committed@2', 'run.finishing@1'] as const),
    ],
    writes: ROWS,
  },
  replace: {
    options: { rows: ROWS, stale: STALE, gone: GONE, pipeline: { fullStrategy: 'replace' } },
    points: [
      ...([
        'pass.collected@1',
        'batch.begun@1',
        'batch.merged@1',
        'replace.merged@1',
        'checkpoint.moved@1',
      ] as const),
      ...(['lease.renewed@1', 'batch.committed@1', 'run.finishing@1'] as const),
    ],
    writes: ROWS + GONE,
  },
  'changed rows by xmin with a sweep': {
    options: {
      rows: ROWS,
      pipeline: { mode: 'incremental', capture: 'xmin', deletes: 'sweep' },
    },
    points: [
      ...([
        'batch.begun@1',
        'batch.merged@1',
        'checkpoint.moved@1',
        'lease.renewed@1',
        'batch.committed@1',
      ] as const),
      ...(['sweep.deleted@1', 'lease.renewed@2', 'batch.committed@2'] as const),
    ],
    writes: 170,
    before: changeRowsAfterAFirstRun,
  },
} as const satisfies Record<string, Strategy>

async function changeRowsAfterAFirstRun(mart: CountedMart): Promise<void> {
  const runner = await aRunner(mart.main, { env: mart.env })
  await run(mart.main, mart.pipeline.id)
  await runner.stop()
  await mart.main.query(`
    DELETE FROM content.line WHERE item_id <= 20;
    DELETE FROM content.item WHERE id <= 20;
    UPDATE content.item SET amount = -amount WHERE id BETWEEN 51 AND 150;
    INSERT INTO content.item (id, name, amount) SELECT n, 'new', n FROM generate_series(1001, 1050) AS n`)
  await forgetWrites(mart)
}

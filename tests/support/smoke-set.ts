import { expect } from 'vitest'
import { aPipeline, type PipelineOverrides } from './builders.js'
import type { TestDatabase } from './database.js'
import { rowTexts } from './stand.js'

/** One pipeline of each kind over the sample cinema, and what its mart has to contain. */
export interface SmokePipeline {
  readonly name: string
  readonly id: string
  readonly way: 'pushdown' | 'relay' | 'rows'
  /** Compares the mart with its source, row by row. */
  verify(): Promise<void>
}

const FILMS = 'SELECT id AS film_id, title, rating, modified AS updated_at FROM content.film_work'
const AVERAGES =
  'SELECT film_id, count(*) AS ratings, avg(rating) AS average, max(modified) AS updated_at FROM ugc.ratings GROUP BY film_id'
const READ = { taskType: 'SQL', body: FILMS } as const

const KINDS: Readonly<Record<string, PipelineOverrides & { readonly way: SmokePipeline['way'] }>> = {
  'full by pushdown, with a sweep': { way: 'pushdown', sourceQuery: FILMS, deletes: 'sweep', batchSize: 70 },
  'full of an aggregate, with a sweep': { way: 'pushdown', sourceQuery: AVERAGES, deletes: 'sweep' },
  'full by relay, with a sweep': {
    way: 'relay',
    sourceQuery: FILMS,
    deletes: 'sweep',
    targetConnection: 'warehouse',
  },
  'rows through a transform, with a sweep': {
    way: 'rows',
    type: 'PYTHON',
    deletes: 'sweep',
    tasks: [READ, { taskType: 'PYTHON', body: 'same' }],
  },
  'full in parts, with a sweep': {
    way: 'pushdown',
    sourceQuery: FILMS,
    deletes: 'sweep',
    parallelism: 3,
  },
  'replace, with checks of rows and of the mart': {
    way: 'pushdown',
    sourceQuery: FILMS,
    fullStrategy: 'replace',
    checks: [
      { name: 'titled', type: 'not_null', column: 'title', on_failure: 'quarantine' },
      { name: 'rated', type: 'range', column: 'rating', min: 0, max: 10, on_failure: 'fail' },
      { name: 'one_row_for_each_film', type: 'unique', columns: ['film_id'], on_failure: 'fail' },
      { name: 'enough_films', type: 'row_count', min: 50, on_failure: 'fail' },
    ],
  },
  'incremental by a computed key, with a sweep': {
    way: 'pushdown',
    sourceQuery: AVERAGES,
    mode: 'incremental',
    capture: 'key',
    incrementalKey: 'updated_at',
    deletes: 'sweep',
  },
  'incremental by key, with a sweep': {
    way: 'pushdown',
    sourceQuery: FILMS,
    mode: 'incremental',
    incrementalKey: 'updated_at',
    incrementalIdKey: 'film_id',
    deletes: 'sweep',
  },
  'incremental by xmin, with a sweep': {
    way: 'pushdown',
    sourceQuery: AVERAGES,
    mode: 'incremental',
    capture: 'xmin',
    deletes: 'sweep',
  },
  'incremental by xmin and relay, with a sweep': {
    way: 'relay',
    sourceQuery: FILMS,
    mode: 'incremental',
    capture: 'xmin',
    deletes: 'sweep',
    targetConnection: 'warehouse',
  },
}

/** The file of the transform that one of them uses. */
export const SMOKE_TASK = {
  file: 'typescript/same.ts',
  text: "import { task } from 'vitrina'\ntask('same', (rows) => rows)\n",
}

/** `warehouse` is the database of the named connection; `main` has the sample cinema. */
export async function smokeSet(main: TestDatabase, warehouse: TestDatabase): Promise<SmokePipeline[]> {
  const made: SmokePipeline[] = []
  for (const [name, { way, ...spec }] of Object.entries(KINDS)) {
    const { id, spec: built } = await aPipeline(main, spec)
    const target = built.targetConnection === null ? main : warehouse
    const verify = async () => {
      const mart = await rowTexts(target, `SELECT * FROM ${built.targetTable}`)
      expect(mart).toEqual(await rowTexts(main, built.sourceQuery ?? ''))
      expect(mart.length).toBeGreaterThan(50)
    }
    made.push({ name, id, way, verify })
  }
  return made
}

/** Changes for every pipeline: changed, new and deleted rows. */
export async function changeCinema(main: TestDatabase): Promise<void> {
  await main.query(`
    UPDATE content.film_work SET title = title || ' (restored)', modified = now() WHERE rating > 8;
    INSERT INTO content.film_work (id, title, type) SELECT gen_random_uuid(), 'new ' || n, 'movie' FROM generate_series(1, 20) n;
    DELETE FROM content.film_work WHERE id IN (SELECT id FROM content.film_work ORDER BY id LIMIT 10);
    UPDATE ugc.ratings SET rating = 1, modified = now() WHERE rating > 9;
    DELETE FROM ugc.ratings WHERE film_id IN (SELECT film_id FROM ugc.ratings ORDER BY film_id LIMIT 5)`)
}

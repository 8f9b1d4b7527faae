import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { addDemoPipelines, type DemoPipeline, readDemoPipelines } from '../../src/main/demo-data.js'
import { anApi } from '../support/api.js'
import { type CinemaRow, type CinemaRows, readCinemaRows, readTexts } from '../support/cinema-rows.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { Fraction } from '../support/fraction.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById, runEnded } from '../support/runs.js'
import { audienceSegments, userFeatures } from './audience.js'
import { CHANGES } from './changes.js'
import { filmDim, filmFeatures, filmRatingAgg, genreDim, scrollingShowcase } from './films.js'

/** What each pipeline that ships should make of the source. */
const EXPECTED: Readonly<Record<string, (cinema: CinemaRows) => CinemaRow[]>> = {
  film_dim_full: filmDim,
  film_rating_agg_full: filmRatingAgg,
  genre_dim_full: genreDim,
  film_dim_incremental: filmDim,
  film_rating_agg_incremental: filmRatingAgg,
  film_features: filmFeatures,
  user_features: userFeatures,
  audience_segments: audienceSegments,
  scrolling_showcase: scrollingShowcase,
}
const TASKS = fileURLToPath(new URL('../../examples/cinema/python', import.meta.url))
const pipelines = (await readDemoPipelines()).filter(({ target }) => !target.startsWith('es:'))
const named = (name: string) => pipelines.find((pipeline) => pipeline.name === name)!

let database: TestDatabase

/** One cinema for all marts of a test. */
async function aCinema(...wanted: readonly DemoPipeline[]): Promise<void> {
  database = await aDatabase({ cinema: true })
  await addDemoPipelines({ DATABASE_URL: database.url }, wanted)
  await aRunner(database, { env: { VITRINA_PYTHON_TASKS: TASKS } })
}

async function expectEqual({ name, target, fields }: DemoPipeline, when: string): Promise<void> {
  const key = fields.key_columns as readonly string[]
  const expected = EXPECTED[name]!(await readCinemaRows(database))
  const found = (await readTexts(database, target)).map(comparable)
  expect(sorted(found, key), `${target} after ${when}`).toEqual(sorted(expected, key))
}

/** An average is written with as many digits as the division gave; ten places of them are compared. */
function comparable(row: CinemaRow): CinemaRow {
  const { avg_rating: average } = row
  if (typeof average !== 'string' || /\.\d{4}$/.test(average)) return row
  return { ...row, avg_rating: Fraction.read(average).round(10) }
}

function sorted(rows: readonly CinemaRow[], key: readonly string[]): CinemaRow[] {
  const text = (row: CinemaRow) => key.map((column) => String(row[column]).padStart(36)).join('|')
  return [...rows].sort((a, b) => (text(a) < text(b) ? -1 : 1))
}

it('R1.3: every mart that ships has a test here', () => {
  expect(Object.keys(EXPECTED).sort()).toEqual(pipelines.map(({ name }) => name).sort())
})

describe.each(pipelines.filter(({ name }) => name !== 'film_rating_agg_incremental'))('$name', (pipeline) => {
  it('R1.3: equals the sources row by row, at first and after inserts, updates and deletes', async () => {
    await aCinema(pipeline)
    expect(await run(database, pipeline.id)).toMatchObject({ status: 'SUCCESS', error: null })
    await expectEqual(pipeline, 'the first load')
    for (const [kind, change] of Object.entries(CHANGES)) {
      await database.query(change)
      expect(await run(database, pipeline.id)).toMatchObject({ status: 'SUCCESS', error: null })
      await expectEqual(pipeline, kind)
    }
  })
})

describe('film_rating_agg_incremental', () => {
  const pipeline = named('film_rating_agg_incremental')

  it('R1.3: reads only films with new or changed ratings, and equals the sources row by row', async () => {
    await aCinema(pipeline)
    expect(await run(database, pipeline.id)).toMatchObject({ status: 'SUCCESS', rows_inserted: 71 })
    await expectEqual(pipeline, 'the first load')
    await database.query(CHANGES.inserts)
    // Three ratings for one film that was there, a new one, and one that the catalogue does not know.
    expect(await run(database, pipeline.id)).toMatchObject({
      status: 'SUCCESS',
      rows_read: 3,
      rows_inserted: 2,
    })
    await expectEqual(pipeline, 'inserts')
    const [before] = await database.query<{ films: number }>(
      'SELECT count(DISTINCT film_id)::int AS films FROM (SELECT film_id FROM ugc.ratings ORDER BY id LIMIT 300) r',
    )
    await database.query(CHANGES.updates)
    // Almost every film: the planner may prefer to compute all of them.
    expect(await run(database, pipeline.id)).toMatchObject({ status: 'SUCCESS', rows_updated: before!.films })
    await expectEqual(pipeline, 'updates')
  })

  it('R5.5: finds deleted ratings in a comparison, and a repair fixes exactly those films', async () => {
    await aCinema(pipeline)
    await database.query(`${CHANGES.inserts}; ${CHANGES.updates}`)
    await run(database, pipeline.id)
    await database.query(CHANGES.deletes)
    await run(database, pipeline.id)
    const api = anApi(database.loginUrl('meta'), { readerUrl: database.loginUrl('reader') })
    try {
      const compared = (await api.get(`/pipelines/${pipeline.id}/reconcile?deep=true`)).json()
      expect(compared).toMatchObject({ matches: false, missing: { count: 0 } })
      expect(compared.extra.count).toBeGreaterThan(0)
      const { run_id, rows } = (await api.post(`/pipelines/${pipeline.id}/reconcile/repair`)).json()
      expect(rows).toBe(compared.extra.count + compared.different.count)
      expect(await runEnded(database, run_id)).toMatchObject({
        status: 'SUCCESS',
        rows_deleted: compared.extra.count,
      })
    } finally {
      await api.close()
    }
    await expectEqual(pipeline, 'deletes and a repair')
  })
})

describe('audience_segments', () => {
  it('R4.7: does not depend on how the rows are cut into batches', async () => {
    const pipeline = named('audience_segments')
    await aCinema({ ...pipeline, fields: { ...pipeline.fields, batch_size: 7 } })
    const { status, batches } = await run(database, pipeline.id)
    expect([status, batches >= 200 / 7]).toEqual(['SUCCESS', true])
    await expectEqual(pipeline, 'small batches')
  })
})

describe('scrolling_showcase', () => {
  const pipeline = named('scrolling_showcase')

  it('R4.3: shows a reader who scrolls the old page or the new one, never anything between', async () => {
    await aCinema(pipeline)
    await run(database, pipeline.id)
    const page = async () =>
      JSON.stringify(sorted(await readTexts(database, pipeline.target), ['carousel_id', 'film_position']))
    const before = await page()
    await database.query(`${CHANGES.inserts}; ${CHANGES.updates}`)
    const runId = await requestRun(database, pipeline.id)
    const seen = new Set<string>()
    while (['REQUESTED', 'RUNNING'].includes((await runById(database, runId)).status)) seen.add(await page())
    const after = await page()
    expect(after).not.toBe(before)
    expect([...seen].filter((one) => one !== before && one !== after)).toEqual([])
  })

  it('R4.3: shows a reader who began to scroll before a refresh the old rows to the end', async () => {
    await aCinema(pipeline)
    await run(database, pipeline.id)
    const scroll = (after: number) => ({
      text: `SELECT film_position::int AS place, film_title FROM ${pipeline.target}
              WHERE carousel_title = 'Drama' AND film_position > $1 ORDER BY film_position LIMIT 5`,
      values: [after],
    })
    const whole = (await database.query(scroll(0).text.replace('LIMIT 5', ''), [0])) as unknown[]
    const reader = await database.client()
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    const scrolled = [...(await reader.query(scroll(0))).rows]
    await database.query(`${CHANGES.inserts}; ${CHANGES.updates}; ${CHANGES.deletes}`)
    expect(await run(database, pipeline.id)).toMatchObject({ status: 'SUCCESS' })
    for (let more = scrolled; more.length > 0; ) {
      more = (await reader.query(scroll(scrolled.at(-1)!.place))).rows
      scrolled.push(...more)
    }
    expect(scrolled).toEqual(whole)
    await reader.query('COMMIT')
  })
})

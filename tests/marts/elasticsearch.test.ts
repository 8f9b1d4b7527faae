import { expect, it, onTestFinished } from 'vitest'
import { addDemoPipelines, readDemoPipelines } from '../../src/main/demo-data.js'
import { type CinemaRow, type CinemaValue, micros, readCinemaRows } from '../support/cinema-rows.js'
import { aDatabase } from '../support/database.js'
import { SearchLab, searchServer } from '../support/elasticsearch.js'
import { aFolder } from '../support/folders.js'
import { spawnVitrina } from '../support/processes.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { CHANGES } from './changes.js'
import { filmDim, filmRatingAgg } from './films.js'

const EXPECTED = { film_dim_es: filmDim, film_rating_agg_es: filmRatingAgg } as const
const server = await searchServer()
const lab = new SearchLab('url' in server ? server.url : '')
const pipelines = (await readDemoPipelines()).filter(({ target }) => target.startsWith('es:'))

it('R1.3: every index that ships has a test here', () => {
  expect(Object.keys(EXPECTED).sort()).toEqual(pipelines.map(({ name }) => name).sort())
  expect(pipelines.map(({ target }) => target).sort()).toEqual(['es:film_dim', 'es:film_rating_agg'])
})

for (const pipeline of pipelines)
  it(`R1.3: ${pipeline.name} equals the sources, at first and after inserts, updates and deletes`, async (context) => {
    if ('missing' in server) return context.skip(server.missing)
    const index = lab.name()
    const database = await aDatabase({ cinema: true })
    const fields = { ...pipeline.fields, target_table: `es:${index}` }
    await addDemoPipelines({ DATABASE_URL: database.url }, [{ ...pipeline, fields }])
    await aRunner(database, { env: { ELASTICSEARCH_URL: lab.url, ALLOWED_ES_INDEXES: '*' } })
    for (const [when, change] of Object.entries({ 'the first load': 'SELECT', ...CHANGES })) {
      await database.query(change)
      expect(await run(database, pipeline.id)).toMatchObject({ status: 'SUCCESS', error: null })
      const expected = EXPECTED[pipeline.name as keyof typeof EXPECTED](await readCinemaRows(database))
      expect(await documents(index), `${pipeline.target} after ${when}`).toEqual(
        byId(expected.map(asDocument)),
      )
    }
  })

it('R1.3: the demo fills the indexes too where ELASTICSEARCH_URL is set, shows and verifies them', async (context) => {
  if ('missing' in server) return context.skip(server.missing)
  for (const name of ['film_dim', 'film_rating_agg']) onTestFinished(() => lab.remove(name))
  const database = await aDatabase({ cinema: true })
  const env = { DATABASE_URL: database.url, VITRINA_PORT: '0', ELASTICSEARCH_URL: lab.url }
  const demo = spawnVitrina(['demo', '--once'], env, { cwd: await aFolder() })
  expect(await demo.exited, demo.stderr).toBe(0)
  expect(demo.stdout).toMatch(
    /es:film_dim {2}999 source rows → 71 mart rows[\s\S]*?\n +The Godfather +9\.2 +Crime, Drama/,
  )
  expect(demo.stdout).toMatch(
    /es:film_rating_agg {2}4,000 source rows → 71 mart rows[\s\S]*?\n +[0-9a-f]{8}… +9\.0054 +184/,
  )
  for (const { target } of pipelines) expect(demo.stdout).toContain(`✓ ${target} matches: 71 rows`)
})

/** Every document under its id, each value in the form in which both sides can be compared. */
async function documents(index: string): Promise<Record<string, unknown>> {
  await lab.call('POST', `/${index}/_refresh`)
  const found = await lab.call<{ hits: { hits: { _id: string; _source: Record<string, unknown> }[] } }>(
    'GET',
    `/${index}/_search?size=1000`,
  )
  return Object.fromEntries(found.hits.hits.map(({ _id, _source }) => [_id, normal(_source)]))
}

function byId(rows: readonly Record<string, unknown>[]): Record<string, unknown> {
  return Object.fromEntries(rows.map((row) => [row.film_id as string, normal(row)]))
}

const NUMBERS = new Set(['rating', 'avg_rating', 'rating_count'])

function asDocument(row: CinemaRow): Record<string, unknown> {
  const number = (value: CinemaValue) => (value === null ? null : Number(value))
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, NUMBERS.has(name) ? number(value) : value]),
  )
}

/** JSON has numbers of its own, and times with a T. */
function normal(document: Record<string, unknown>): Record<string, unknown> {
  const { updated_at: time, avg_rating: average } = document
  return {
    ...document,
    updated_at: micros(time as string).toString(),
    ...(average === undefined ? {} : { avg_rating: (average as number).toFixed(10) }),
  }
}

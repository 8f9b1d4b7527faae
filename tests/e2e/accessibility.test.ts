import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { seriousFindings } from './support/axe.js'
import { aBrowser, type Visitor } from './support/browser.js'
import { tooWideForAPhone } from './support/phone.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand()
const browser = aBrowser()

interface Screen {
  readonly name: string
  readonly path: string | (() => Promise<string>)
  readonly shows: string | RegExp
}

/** A new screen is a new line here: its address, and a text that shows that it is there. */
const FILMS_ID = '11111111-1111-1111-1111-111111111111'
const FILMS = `/pipelines/${FILMS_ID}`
const SCREENS: readonly Screen[] = [
  { name: 'the list of pipelines', path: '/pipelines', shows: 'film_dim_full' },
  { name: 'a new pipeline', path: '/pipelines/new', shows: /Use an example|Взять пример/ },
  {
    name: 'the import',
    path: '/pipelines/import',
    shows: /Nothing is planned yet|Пока ничего не спланировано/,
  },
  { name: 'a duplicate', path: `/pipelines/new?from=${FILMS_ID}`, shows: 'film_dim_full' },
  {
    name: 'the list of runs',
    path: async () => {
      await anEndedRun()
      return '/runs'
    },
    shows: 'film_dim_full',
  },
  { name: 'a run', path: async () => `/runs/${(await anEndedRun()).run_id}?batch=1`, shows: 'film_dim_full' },
  { name: 'a filtered list of runs', path: '/runs?status=failed,succeeded&range=custom', shows: 'UTC' },
  {
    name: 'a run that was tried several times',
    path: async () => `/runs/${await aRunTriedTwice()}?attempt=1&q=nothing`,
    shows: /No line has|Строк с/,
  },
  { name: 'the runners', path: '/runners', shows: hostname() },
  { name: 'the lineage', path: '/lineage', shows: 'analytics.film_dim' },
  {
    name: 'the path of a column',
    path: '/lineage?node=analytics.film_dim&level=column&column=analytics.film_dim%23title',
    shows: /Path of the column|Путь колонки/,
  },
  {
    name: 'the lineage as a list',
    path: '/lineage?node=analytics.film_dim&level=column&view=list',
    shows: /Comes from|Откуда/,
  },
  { name: 'the overview of the fleet', path: '/', shows: /Needs attention|Требует внимания/ },
  { name: 'the quality of the fleet', path: '/quality', shows: 'film_dim_full' },
  { name: 'the quarantine', path: aHeldRow, shows: '22003' },
  {
    name: 'a row of the quarantine',
    path: async () => `/quarantine?row=${await aHeldRowId()}`,
    shows: 'row_of_axe',
  },
  { name: 'the overview of a pipeline', path: `${FILMS}/overview`, shows: 'sql_full' },
  { name: 'the query of a pipeline', path: `${FILMS}/sql`, shows: /Rows expected|Ожидается строк/ },
  { name: 'the configuration of a pipeline', path: `${FILMS}/config`, shows: 'quarantine_limit' },
  { name: 'the versions of a pipeline', path: `${FILMS}/versions`, shows: /Version 1|Версия 1/ },
  {
    name: 'the runs of a pipeline',
    path: `${FILMS}/runs`,
    shows: /No runs yet|Запусков ещё нет|shown|показан/,
  },
  { name: 'the state of a pipeline', path: `${FILMS}/state`, shows: /Mode full|Режим full/ },
  {
    name: 'the quality of a pipeline',
    path: `${FILMS}/quality`,
    shows: /No row is held|Задержанных строк нет|held|задержан/,
  },
  {
    name: 'the connections',
    path: '/settings/connections',
    shows: /May be written: tables|Можно писать: таблицы/,
  },
  {
    name: 'the tokens',
    path: async () => {
      await stand().token('viewer')
      return '/settings/tokens'
    },
    shows: 'viewer of a test',
  },
  {
    name: 'an entry of the audit',
    path: async () => {
      await stand().token('viewer')
      const { data } = await stand().api.GET('/audit', { params: { query: { limit: 1 } } })
      return `/settings/audit?entry=${data!.items[0]!.id}`
    },
    shows: 'token.create',
  },
  { name: 'what the server is', path: '/settings/about', shows: 'RUNNER_CONCURRENCY' },
]
/** Colours do not depend on words, nor words on colours: two visits see both themes and both languages. */
const LOOKS = [
  ['light', 'en'],
  ['dark', 'ru'],
] as const

async function anEndedRun() {
  const params = { path: { id: FILMS_ID }, query: { wait: '60s' } }
  const { data } = await stand().api.POST('/pipelines/{id}/run', { params })
  return data!
}

async function aRunTriedTwice(): Promise<string> {
  const { run_id } = await anEndedRun()
  await stand().database.query(
    `UPDATE etl.etl_runs SET attempt = 2, attempts = jsonb_build_array(jsonb_build_object('attempt', 1, 'end', 'failed',
       'endedAt', etl.rfc3339(now()), 'runnerId', 'r1', 'error', 'It broke.', 'errorCode', 'VTR-3104', 'errorHint', 'Mend it.')) WHERE id = $1`,
    [run_id],
  )
  return run_id
}

async function aHeldRowId(): Promise<string> {
  const [row] = await stand().database.query<{ id: string }>(
    `WITH made AS (INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason, sqlstate)
       VALUES ($1, gen_random_uuid(), gen_random_uuid()::text, '{film_id,row_of_axe}', '{a,NULL}', 'numeric field overflow', '22003')
       RETURNING id::text)
     SELECT id FROM made`,
    [FILMS_ID],
  )
  return String(row!.id)
}

async function aHeldRow(): Promise<string> {
  await aHeldRowId()
  return '/quarantine'
}

async function visitor(theme: 'light' | 'dark', language: string): Promise<Visitor> {
  const made = await browser().visitor({ colorScheme: theme })
  const kept = JSON.stringify({ theme, language })
  await made.context.addInitScript(`localStorage.setItem('vitrina.preferences', '${kept}')`)
  return made
}

for (const [theme, language] of LOOKS)
  describe(`axe finds nothing serious, and a phone scrolls nothing sideways (${theme}, ${language})`, () => {
    it('on the sign-in', async () => {
      const { page } = await visitor(theme, language)
      await page.goto(`${stand().url}/ui/`)
      await page.getByRole('heading').waitFor()
      expect(await seriousFindings(page)).toEqual([])
    })

    for (const { name, path, shows } of SCREENS)
      it(`on ${name}`, async () => {
        const { page, complaints } = await visitor(theme, language)
        await stand().open(page, typeof path === 'string' ? path : await path())
        await page.getByText(shows).filter({ visible: true }).first().waitFor()
        expect(await page.locator('html').getAttribute('lang')).toBe(language)
        expect(await seriousFindings(page)).toEqual([])
        expect(await tooWideForAPhone(page)).toEqual([])
        expect(complaints).toEqual([])
      })
  })

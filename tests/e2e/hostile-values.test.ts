import { randomUUID } from 'node:crypto'
import { beforeAll, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

/* Values from outside appear on every screen: each must be shown as text, and none may run. */

const stand = aConsoleStand()
const browser = aBrowser()

const HOSTILE = '<img src=x onerror=window.attacked=1><svg onload=window.attacked=1>'
const RUN = randomUUID()
let id = ''

beforeAll(async () => {
  const { database } = stand()
  const made = await aPipeline(database, { name: `hostile ${HOSTILE}`, targetTable: 'analytics.hostile' })
  id = made.id
  await database.query(
    `CREATE TABLE analytics.hostile (film_id text PRIMARY KEY, title text, "${HOSTILE.slice(0, 37)}" text)`,
  )
  await database.query('ALTER TABLE analytics.hostile OWNER TO vitrina_writer')
  await database.query('GRANT SELECT ON analytics.hostile TO vitrina_meta')
  await database.query('INSERT INTO analytics.hostile VALUES ($1, $1, $1)', [HOSTILE])
  const check = {
    name: `check ${HOSTILE}`.slice(0, 90),
    type: 'not_null',
    column: 'title',
    on_failure: 'warn',
  }
  await database.query('UPDATE etl.etl_pipelines SET description = $2, checks = $3 WHERE id = $1', [
    id,
    HOSTILE,
    JSON.stringify([check]),
  ])
  await database.query(
    `INSERT INTO etl.etl_runs (id, pipeline_id, status, started_at, finished_at, error, error_code, error_hint)
     VALUES ($1, $2, 'FAILED', now(), now(), $3, 'VTR-2002', $3)`,
    [RUN, id, HOSTILE],
  )
  await database.query(
    `INSERT INTO etl.etl_check_results (pipeline_id, run_id, check_name, check_type, scope, on_failure, status, failed_rows, sample, message)
     VALUES ($1, $2, $3, 'not_null', 'batch', 'warn', 'warned', 1, ARRAY[$4], $4)`,
    [id, RUN, check.name, HOSTILE],
  )
  await database.query(
    `INSERT INTO etl.etl_notification_rules (name, events, channel) VALUES ($1, '{failed}', 'gone')`,
    [HOSTILE],
  )
  await database.query(
    `INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, status, last_error, attempted_at, settled_at)
     VALUES (gen_random_uuid(), $1, 'gone', 'failed', 'DEAD', $1, now(), now())`,
    [HOSTILE],
  )
})

const SCREENS = [
  ['the data of the mart', () => `/pipelines/${id}/data`],
  ['the checks of the pipeline', () => `/pipelines/${id}/quality`],
  ['the pipeline', () => `/pipelines/${id}`],
  ['its run', () => `/runs/${RUN}`],
  ['all checks', () => '/checks'],
  ['the order of runs', () => '/order'],
  ['notifications', () => '/settings/notifications'],
] as const

it.each(SCREENS)('%s shows hostile values as text', async (_name, path) => {
  const { page } = await browser().visitor()
  await stand().open(page, path())
  await page.getByText('<img src=x', { exact: false }).first().waitFor()
  expect(await page.evaluate('window.attacked')).toBeUndefined()
  expect(await page.locator('img[src="x"], svg[onload]').count()).toBe(0)
})

import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

/** A run that a runner has, as far as the database knows. */
async function aRunUnderWay() {
  const { database } = stand()
  const { id, spec } = await aPipeline(database)
  for (const status of ['RUN_REQUESTED', 'RUNNING'])
    await database.query('UPDATE etl.etl_pipelines SET status = $2 WHERE id = $1', [id, status])
  const [run] = await database.query<{ id: string }>(
    `UPDATE etl.etl_runs SET status = 'RUNNING', attempt = 1, strategy = 'sql_full', rows_read = 250,
       started_at = clock_timestamp() - interval '30 s' WHERE pipeline_id = $1 RETURNING id`,
    [id],
  )
  return { id, name: spec.name, runId: run!.id }
}

async function aPastRun(pipelineId: string, rows: number): Promise<string> {
  const [run] = await stand().database.query<{ id: string }>(
    `INSERT INTO etl.etl_runs (pipeline_id, status, strategy, requested_at, started_at, finished_at, rows_read, attempt)
     SELECT $1, 'SUCCESS', 'sql_full', at, at, at + interval '1 min', $2, 1
       FROM (SELECT now() - interval '1 h' AS at) RETURNING id`,
    [pipelineId, rows],
  )
  return run!.id
}

describe('a run under way', () => {
  it('says how far it is and how long it still takes, when an earlier one tells how much there is', async () => {
    const { id, name, runId } = await aRunUnderWay()
    await aPastRun(id, 1_000)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)
    await page.getByText('~25%', { exact: true }).waitFor()
    const left = page.locator('dl div').filter({ has: page.getByText('Left', { exact: true }) })
    expect(await left.locator('dd').textContent()).toMatch(/^~\d/)
    expect(await page.title()).toBe(`${name} · running 25% · Vitrina`)
    expect(complaints).toEqual([])
  })
})

describe('a line of a log', () => {
  it('has an address of its own, shows its facts, and what is an address in it can be followed', async () => {
    const { id } = await aPipeline(stand().database)
    const runId = await aPastRun(id, 1)
    const lines = await stand().database.query<{ id: number }>(
      `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
       SELECT $1, now() + n * interval '1 ms', 'info', 'Line number ' || n || '.', jsonb_build_object('attempt', 1)
         FROM generate_series(1, 2500) n RETURNING id`,
      [runId],
    )
    const [told] = await stand().database.query<{ id: number }>(
      `UPDATE etl.etl_run_log SET message = 'See https://example.org/runs/7, it has more.',
         fields = '{"refused": [{"id": 7, "why": "too long"}]}' WHERE id = $1 RETURNING id`,
      [lines[1_200]!.id],
    )
    const { page, complaints } = await browser().visitor()
    // Neither among the last thousand nor among the first.
    await stand().open(page, `/runs/${runId}?line=${told!.id}`)
    const line = page.locator(`#line-${told!.id}`)
    await line.and(page.locator('[data-chosen]')).waitFor()
    expect(await line.boundingBox().then((box) => box!.y > 0 && box!.y < 900)).toBe(true)
    await page.getByText('2,000 lines, older ones not loaded, more to come').waitFor()

    expect(await line.getByRole('link', { name: 'https://' }).getAttribute('href')).toBe(
      'https://example.org/runs/7',
    )
    await line.getByRole('button', { name: 'JSON' }).click()
    await line.getByText('"why": "too long"').waitFor()
    await line.getByRole('button', { name: 'JSON' }).click()
    expect(await line.locator('pre').count()).toBe(0)

    const next = page.locator(`#line-${lines[1_201]!.id}`)
    await next.getByRole('link').click()
    await page.waitForURL(new RegExp(`line=${lines[1_201]!.id}`))
    await next.and(page.locator('[data-chosen]')).waitFor()
    expect(await page.locator('[data-chosen]').count()).toBe(1)
    expect(complaints).toEqual([])
  })
})

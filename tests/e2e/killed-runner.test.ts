import { describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { requestRun, run, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

describe('a runner that is killed in the middle of a run', () => {
  it('is told on the page of the run, and so is who goes on, until it succeeds', async () => {
    const { id, spec } = await aPipeline(stand().database, { batchSize: 10 })
    const dies = stand().runner({ VITRINA_FAILPOINT: 'batch.committed@3=kill', RUNNER_LEASE_SECONDS: '4' })
    const { data: asked } = await stand().api.POST('/pipelines/{id}/run', { params: { path: { id } } })
    const runId = asked!.run_id
    expect(await dies.exited).toBe(128 + 9)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)

    // It waits for the lease, and says that nobody is there to take over.
    await page.getByText(/has been silent for/).waitFor()
    await page.getByText('It goes on after batch 3; no row is lost or doubled.').waitFor()
    await page.getByText('No other runner is alive: start one').waitFor()
    await page.getByText('Its lease is over: the next runner takes the run.').waitFor()
    expect(await page.title()).toContain(`${spec.name} · running`)
    const { data: before } = await stand().api.GET('/runs/{id}', { params: { path: { id: runId } } })

    stand().runner()
    await page.getByText('succeeded', { exact: true }).first().waitFor()
    const attempts = page.getByRole('region', { name: 'Attempts' })
    await attempts.getByText('the runner went silent').waitFor()
    await attempts.getByText(before!.runner_id!).waitFor()
    await page.getByText(/has been silent for/).waitFor({ state: 'detached' })
    const run = await runEnded(stand().database, runId)
    const [mart] = await stand().database.query<{ n: string }>(
      `SELECT count(*) AS n FROM ${spec.targetTable}`,
    )
    expect(run.rows_read).toBe(Number(mart!.n))
    await page.getByRole('region', { name: 'Progress' }).getByText(`${run.rows_read} read`).waitFor()
    // The lines of each attempt by themselves.
    await attempts.getByRole('button', { name: 'log of attempt 2' }).click()
    await page.waitForURL(/attempt=2/)
    const log = page.getByRole('log')
    await log.getByText('Run continued.').waitFor()
    expect(await log.getByText('Run started.').count()).toBe(0)
    expect(complaints).toEqual([])
  })
})

describe('a runner that is stopped in the middle of a run', () => {
  it('is shown as stopped, with the run handed back, before and after another runner takes it', async () => {
    const { database } = stand()
    const { id, spec } = await aPipeline(database, { batchSize: 10 })
    const runner = stand().runner()
    await run(database, id)
    await database.query(`UPDATE ${spec.targetTable} SET title = 'old'`)
    const holder = await database.client()
    await holder.query('BEGIN')
    await holder.query(`SELECT FROM ${spec.targetTable} ORDER BY film_id OFFSET 25 LIMIT 1 FOR UPDATE`)
    const runId = await requestRun(database, id)
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
      AND starts_with(application_name, 'vitrina-run ')`
    await waitFor(async () => (await database.query(waiting)).length > 0, {
      what: 'a batch to wait for the row',
    })
    runner.kill('SIGTERM')
    await holder.query('COMMIT')
    expect(await runner.exited).toBe(0)

    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)
    const attempts = page.getByRole('region', { name: 'Attempts' })
    await attempts.getByText('the runner stopped and handed the run back').waitFor()
    expect(await attempts.getByText('under way on').count()).toBe(0)
    await page.getByText('The next runner takes the run at once.').waitFor()
    await page.getByText('No runner is alive: start one.').waitFor()
    expect(await page.getByText(/silent/).count()).toBe(0)

    stand().runner()
    await page.getByText('succeeded', { exact: true }).first().waitFor()
    await attempts.getByText('the runner stopped and handed the run back').waitFor()
    await attempts.getByText('Attempt 2', { exact: true }).waitFor()
    expect(await page.getByText(/silent/).count()).toBe(0)
    expect(complaints).toEqual([])
  })
})

describe('a run that does not stop', () => {
  it('can be forced to end, and its batch is rolled back', async () => {
    const { id, spec } = await aPipeline(stand().database, { batchSize: 10 })
    const runner = stand().runner({ VITRINA_FAILPOINT: 'batch.merged@2=freeze', RUNNER_LEASE_SECONDS: '300' })
    onTestFinished(() => runner.kill('SIGKILL'))
    const { data } = await stand().api.POST('/pipelines/{id}/run', { params: { path: { id } } })
    const { page, complaints } = await browser().visitor()
    await page.clock.install()
    await stand().open(page, `/runs/${data!.run_id}`)
    await page.getByRole('region', { name: 'Progress' }).getByText('1 batch', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    // The tooltip of the button says the same while the pointer is on it.
    const main = page.getByRole('main')
    await main.getByText('It stops after its current batch; what is written stays.').waitFor()
    const force = page.getByRole('button', { name: 'Force the end' })
    expect(await force.count()).toBe(0)
    // A stuck batch gets half a minute before more is offered.
    await page.clock.fastForward('00:30')
    await page.getByText('It still works on batch 2.').waitFor()
    await force.click()
    await page.getByText('cancelled', { exact: true }).first().waitFor()
    const { data: after } = await stand().api.GET('/runs/{id}', { params: { path: { id: data!.run_id } } })
    expect(after).toMatchObject({ status: 'CANCELLED', batches: 1, rows_written: 10 })
    const rows = await stand().database.query(`SELECT FROM ${spec.targetTable}`)
    expect(rows).toHaveLength(10)
    expect(complaints).toEqual([])
  }, 120_000)
})

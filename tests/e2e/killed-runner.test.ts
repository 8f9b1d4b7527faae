import { describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { requestRun, run, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'
import { aBrowser } from './support/browser.js'
import { aConsoleStand } from './support/stand.js'

const stand = aConsoleStand({ hasRunner: false })
const browser = aBrowser()

describe('a runner that is killed in the middle of a run', () => {
  it('is reported on the page of the run until another runner completes it', async () => {
    const { id, spec } = await aPipeline(stand().database, { batchSize: 10 })
    const dies = stand().runner({ VITRINA_FAILPOINT: 'batch.committed@3=kill', RUNNER_LEASE_SECONDS: '4' })
    const { data: asked } = await stand().api.POST('/pipelines/{id}/run', { params: { path: { id } } })
    const runId = asked!.run_id
    expect(await dies.exited).toBe(128 + 9)
    const { page, complaints } = await browser().visitor()
    await stand().open(page, `/runs/${runId}`)

    // The run waits for the lease to expire, and the page says that no other runner is alive.
    await page.getByText(/has sent no heartbeat for/).waitFor()
    await page.getByText('The run resumes after batch 3; no rows are lost or duplicated.').waitFor()
    await page.getByText('No other runner is alive. Start one').waitFor()
    await page.getByText('Its lease has expired: the next runner claims the run.').waitFor()
    expect(await page.title()).toContain(`${spec.name} · running`)
    const { data: before } = await stand().api.GET('/runs/{id}', { params: { path: { id: runId } } })

    stand().runner()
    await page.getByText('succeeded', { exact: true }).first().waitFor()
    const attempts = page.getByRole('region', { name: 'Attempts' })
    await attempts.getByText('runner lost').waitFor()
    await attempts.getByText(before!.runner_id!).waitFor()
    await page.getByText(/has sent no heartbeat for/).waitFor({ state: 'detached' })
    const run = await runEnded(stand().database, runId)
    const [mart] = await stand().database.query<{ n: string }>(
      `SELECT count(*) AS n FROM ${spec.targetTable}`,
    )
    expect(run.rows_read).toBe(Number(mart!.n))
    await page.getByRole('region', { name: 'Progress' }).getByText(`${run.rows_read} read`).waitFor()
    // The log of one attempt.
    await attempts.getByRole('button', { name: 'Log of attempt 2' }).click()
    await page.waitForURL(/attempt=2/)
    const log = page.getByRole('log')
    await log.getByText('Run resumed.').waitFor()
    expect(await log.getByText('Run started.').count()).toBe(0)
    expect(complaints).toEqual([])
  })
})

describe('a runner that is stopped in the middle of a run', () => {
  it('is shown as stopped, with the run released, before and after another runner claims it', async () => {
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
    await attempts.getByText('runner stopped and released the run').waitFor()
    expect(await attempts.getByText('in progress on').count()).toBe(0)
    await page.getByText('The next runner claims the run immediately.').waitFor()
    await page.getByText('No runner is alive. Start one.').waitFor()
    expect(await page.getByText(/no heartbeat/).count()).toBe(0)

    stand().runner()
    await page.getByText('succeeded', { exact: true }).first().waitFor()
    await attempts.getByText('runner stopped and released the run').waitFor()
    await attempts.getByText('Attempt 2', { exact: true }).waitFor()
    expect(await page.getByText(/no heartbeat/).count()).toBe(0)
    expect(complaints).toEqual([])
  })
})

describe('a run that does not stop', () => {
  it('can be stopped by force, which rolls its batch back', async () => {
    const { id, spec } = await aPipeline(stand().database, { batchSize: 10 })
    const runner = stand().runner({ VITRINA_FAILPOINT: 'batch.merged@2=freeze', RUNNER_LEASE_SECONDS: '300' })
    onTestFinished(() => runner.kill('SIGKILL'))
    const { data } = await stand().api.POST('/pipelines/{id}/run', { params: { path: { id } } })
    const { page, complaints } = await browser().visitor()
    await page.clock.install()
    await stand().open(page, `/runs/${data!.run_id}`)
    await page.getByRole('region', { name: 'Progress' }).getByText('1 batch', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Cancel run' }).click()
    // The tooltip of the button contains the same text while the pointer is over it.
    const main = page.getByRole('main')
    await main.getByText('The run stops after the current batch; written rows are kept.').waitFor()
    const force = page.getByRole('button', { name: 'Force stop' })
    expect(await force.count()).toBe(0)
    // A stuck batch gets half a minute before force stop is offered.
    await page.clock.fastForward('00:30')
    await page.getByText('Batch 2 is still in progress.').waitFor()
    await force.click()
    await page.getByText('cancelled', { exact: true }).first().waitFor()
    const { data: after } = await stand().api.GET('/runs/{id}', { params: { path: { id: data!.run_id } } })
    expect(after).toMatchObject({ status: 'CANCELLED', batches: 1, rows_written: 10 })
    const rows = await stand().database.query(`SELECT FROM ${spec.targetTable}`)
    expect(rows).toHaveLength(10)
    expect(complaints).toEqual([])
  }, 120_000)
})

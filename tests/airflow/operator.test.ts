import { describe, expect, it } from 'vitest'
import type { RunDetail } from '../../src/cli/server/wire.js'
import { waitFor } from '../support/wait.js'
import type { TaskOf } from './support/airflow-api.js'
import { type AirflowStand, anAirflowStand } from './support/stand.js'

const stand = anAirflowStand()
const TIMEOUT = 300_000

/** Starts a DAG with one task for a pipeline. */
async function start(dag: string, pipeline: string) {
  const run = await stand().airflow.api.trigger(dag, { pipeline })
  return { dag, run, task: 'run' }
}

/** Waits until Vitrina works on the only run of a pipeline; answers its id. */
async function untilRunning(pipelineId: string): Promise<string> {
  const running = async () => {
    const [run] = await stand().runs(pipelineId)
    return run?.status === 'RUNNING' ? run.id : null
  }
  return waitFor(running, { what: 'a runner to take the run', timeoutMs: TIMEOUT })
}

function untilRun(id: string, what: string, is: (run: RunDetail) => boolean) {
  const look = async () => {
    const run = await stand().run(id)
    return is(run) ? run : null
  }
  return waitFor(look, { what, timeoutMs: TIMEOUT })
}

/** Airflow kills only triggers that have begun. */
async function untilTriggered(task: TaskOf): Promise<void> {
  await api().untilTask(task, 'deferred')
  const hasBegun = async () =>
    /trigger one_run_deferred\S+ \(ID \d+\) starting/.test(await api().log(task, 1))
  await waitFor(hasBegun, { what: 'the trigger to begin', timeoutMs: TIMEOUT })
}

const statuses = async (id: string) => (await stand().runs(id)).map(({ status }) => status)
const heldPipeline = () => stand().heldPipeline()
const api = () => stand().airflow.api

describe('the provider', { timeout: TIMEOUT }, () => {
  it('is known to Airflow, with its connection type', async () => {
    const { airflow } = stand()
    expect(await api().importErrors()).toMatchObject({ total_entries: 0 })
    const hooks = await airflow.python('-m', 'airflow', 'providers', 'hooks', '--output', 'json')
    expect(hooks.output).toContain('vitrina_provider.hooks.vitrina.VitrinaHook')
    const links = await airflow.python('-m', 'airflow', 'providers', 'links', '--output', 'json')
    expect(links.output).toContain('vitrina_provider.links.vitrina.VitrinaRunLink')
  })

  it('passes its own tests, against this API', async () => {
    const folder = 'python/airflow-provider-vitrina/tests'
    const { code, output } = await stand().airflow.python('-m', 'unittest', 'discover', '-s', folder, '-v')
    expect(code, output).toBe(0)
    expect(output).toMatch(/Ran [1-9]\d* tests/)
  })
})

describe('a task', { timeout: TIMEOUT }, () => {
  it('R7.4 runs a pipeline, and passes the result of the run on, with a link to it', async () => {
    const { id, name } = await stand().pipeline()
    const task = await start('one_run', name)
    await api().untilTask(task, 'success')
    const [run] = await stand().runs(id)
    expect(run).toMatchObject({
      status: 'SUCCESS',
      external_ref: `airflow:one_run:run:${task.run}`,
    })
    const { batch_history: _, ...shown } = await stand().run(run!.id)
    expect(await api().xcom(task)).toEqual(shown)
    expect(await api().links(task)).toEqual({ 'Vitrina run': `${stand().url}/ui/runs/${run!.id}` })
  })

  it('fails with the error of Vitrina', async () => {
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id AS film_id, 1 / 0 AS x FROM content.film_work',
    })
    const task = await start('one_run', id)
    const { try_number } = await api().untilTask(task, 'failed')
    const [run] = await stand().runs(id)
    const log = await api().log(task, try_number)
    for (const words of [run!.error, run!.error_code, run!.error_hint]) expect(log).toContain(words)
    expect(log).toContain('division by zero')
  })

  it('names a pipeline that does not exist', async () => {
    const task = await start('one_run', 'no_such_mart')
    const { try_number } = await api().untilTask(task, 'failed')
    expect(await api().log(task, try_number)).toContain('There is no pipeline \\"no_such_mart\\"')
  })

  it('cancels its run when a user ends it', async () => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run', id)
    const runId = await untilRunning(id)
    await api().markFailed(task)
    await untilRun(runId, 'the request to cancel', (run) => run.cancel_requested)
    open()
    await untilRun(runId, 'the run to be cancelled', ({ status }) => status === 'CANCELLED')
  })

  it('pauses its pipeline instead if configured, and continues when it is cleared', async () => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run_paused_when_killed', id)
    const runId = await untilRunning(id)
    await api().markFailed(task)
    const isPausing = async () => (await stand().statusOf(id)) === 'PAUSE_REQUESTED'
    await waitFor(isPausing, { what: 'the request to pause', timeoutMs: TIMEOUT })
    open()
    await untilRun(runId, 'the run to be paused', ({ status }) => status === 'PAUSED')
    await api().clear(task)
    await api().untilTask({ ...task }, 'success')
    expect(await statuses(id)).toEqual(['SUCCESS', 'PAUSED'])
  })
})

describe('a task that is tried again', { timeout: TIMEOUT }, () => {
  it('finds the run that its killed predecessor had requested', async () => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run_retried', id)
    const runId = await untilRunning(id)
    process.kill(stand().airflow.pidOf('one_run_retried'), 'SIGKILL')
    const isSecond = async () => (await api().untilTask(task, 'running')).try_number === 2
    await waitFor(isSecond, { what: 'the second try', timeoutMs: TIMEOUT })
    open()
    await api().untilTask(task, 'success')
    expect((await stand().runs(id)).map((run) => [run.id, run.status])).toEqual([[runId, 'SUCCESS']])
    expect(await api().log(task, 2)).toContain(runId)
  })

  it('requests another run after one that failed', async () => {
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id AS film_id, 1 / (title IS NULL)::int AS x FROM content.film_work',
    })
    const task = await start('one_run_retried', id)
    const hasFailed = async () => (await statuses(id)).includes('FAILED')
    await waitFor(hasFailed, { what: 'the first run to fail', timeoutMs: TIMEOUT })
    await stand().database.query(
      "UPDATE etl.etl_pipelines SET source_query = 'SELECT id AS film_id, 1 AS x FROM content.film_work' WHERE id = $1",
      [id],
    )
    await api().untilTask(task, 'success')
    const seen = await statuses(id)
    expect([seen[0], new Set(seen.slice(1))]).toEqual(['SUCCESS', new Set(['FAILED'])])
  })

  it('requests another run when it is cleared after a success', async () => {
    const { id } = await stand().pipeline()
    const task = await start('one_run', id)
    await api().untilTask(task, 'success')
    await api().clear(task)
    const both = async () => (await statuses(id)).filter((status) => status === 'SUCCESS').length === 2
    await waitFor(both, { what: 'a second run', timeoutMs: TIMEOUT })
    await api().untilTask(task, 'success')
    expect(await statuses(id)).toEqual(['SUCCESS', 'SUCCESS'])
  })

  it('cancels its run and requests another when it is cleared while it runs', async () => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run', id)
    const runId = await untilRunning(id)
    await api().clear(task)
    await untilRun(runId, 'the request to cancel', (run) => run.cancel_requested)
    open()
    const isDone = async () => (await statuses(id)).join() === 'SUCCESS,CANCELLED'
    await waitFor(isDone, { what: 'another run', timeoutMs: TIMEOUT })
    await api().untilTask(task, 'success')
  })

  it('waits for the run of another client and then starts its own', async () => {
    const { id, open } = await heldPipeline()
    const first = await start('one_run', id)
    const runId = await untilRunning(id)
    const second = await start('one_run', id)
    const hasSeen = async () => (await api().log(second, 1)).includes(`Run ${runId} is in the way`)
    await waitFor(hasSeen, { what: 'the second task to wait', timeoutMs: TIMEOUT })
    open()
    for (const task of [first, second]) await api().untilTask(task, 'success')
    expect((await stand().runs(id)).map(({ external_ref, status }) => [external_ref, status])).toEqual([
      [`airflow:one_run:run:${second.run}`, 'SUCCESS'],
      [`airflow:one_run:run:${first.run}`, 'SUCCESS'],
    ])
  })
})

describe('a deferred task', { timeout: TIMEOUT }, () => {
  it('waits in the triggerer, and succeeds with its run', async () => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run_deferred', id)
    await api().untilTask(task, 'deferred')
    open()
    await api().untilTask(task, 'success')
    const [run] = await stand().runs(id)
    expect(await api().xcom(task)).toMatchObject({ id: run!.id, status: 'SUCCESS' })
    expect(await api().links(task)).toEqual({ 'Vitrina run': `${stand().url}/ui/runs/${run!.id}` })
  })

  it('fails with the error of Vitrina', async () => {
    const { id } = await stand().pipeline({
      sourceQuery: 'SELECT id AS film_id, 1 / 0 AS x FROM content.film_work',
    })
    const task = await start('one_run_deferred', id)
    const { try_number } = await api().untilTask(task, 'failed')
    expect(await api().log(task, try_number)).toContain('division by zero')
  })

  it.each(['markFailed', 'clear'] as const)('cancels its run on %s', async (action) => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run_deferred', id)
    await untilTriggered(task)
    const runId = await untilRunning(id)
    await api()[action](task)
    await untilRun(runId, 'the request to cancel', (run) => run.cancel_requested)
    open()
    await untilRun(runId, 'the run to be cancelled', ({ status }) => status === 'CANCELLED')
    if (action === 'clear') await api().untilTask(task, 'success')
    expect(await statuses(id)).toEqual(action === 'clear' ? ['SUCCESS', 'CANCELLED'] : ['CANCELLED'])
  })

  it('cancels its run when its time is up', async () => {
    const { id, open } = await heldPipeline()
    const task = await start('one_run_deferred_briefly', id)
    const { try_number } = await api().untilTask(task, 'failed')
    expect(await api().log(task, try_number)).toContain('did not end within 0:00:02')
    open()
    const isCancelled = async () => (await statuses(id)).join() === 'CANCELLED'
    await waitFor(isCancelled, { what: 'the run to be cancelled', timeoutMs: TIMEOUT })
  })
})

describe('DAGs', { timeout: TIMEOUT }, () => {
  const marts = ['film_dim', 'genre_dim', 'film_rating_agg']

  it('R7.4 the example with plain HTTP operators runs a pipeline and reads its status', async () => {
    const run = await api().trigger('vitrina_http')
    await api().untilSuccess('vitrina_http', run)
    const status = await api().xcom({ dag: 'vitrina_http', run, task: 'status' })
    expect(status).toMatchObject({ name: 'film_dim_full', status: 'IDLE', last_run: { status: 'SUCCESS' } })
  })

  it('the example with the provider builds every demo mart', async () => {
    const run = await api().trigger('vitrina_marts')
    expect(await api().untilSuccess('vitrina_marts', run)).toHaveLength(4)
    for (const mart of marts) expect(await rowsOf(stand(), mart)).toBeGreaterThan(0)
  })

  it('sensors wait for a run and for a fresh mart, in a worker and in the triggerer', async () => {
    const { id, open } = await heldPipeline()
    const run = await api().trigger('sensors', { pipeline: id })
    await api().untilTask({ dag: 'sensors', run, task: 'deferred' }, 'deferred')
    open()
    await api().untilSuccess('sensors', run)
    const [only] = await stand().runs(id)
    for (const task of ['poked', 'deferred', 'fresh', 'fresh_poked'])
      expect(await api().xcom({ dag: 'sensors', run, task })).toMatchObject({ id: only!.id })
  })
})

async function rowsOf({ database }: AirflowStand, mart: string): Promise<number> {
  const [row] = await database.query<{ count: string }>(`SELECT count(*) FROM analytics.${mart}`)
  return Number(row!.count)
}

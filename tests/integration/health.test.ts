import { connect, createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aCountedMart, holdRow } from '../support/counted-mart.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { type SpawnedVitrina, spawnVitrina } from '../support/processes.js'
import { requestRun, runById } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

async function startRunner(databaseUrl: string): Promise<{ runner: SpawnedVitrina; url: string }> {
  const env = { DATABASE_URL: databaseUrl, RUNNER_METRICS_PORT: '0', RUNNER_POLL_INTERVAL_MS: '100' }
  const runner = spawnVitrina(['runner'], env, { cwd: await aFolder() })
  const [, port = ''] = await runner.waitForOutput(/"port":(\d+),"msg":"Metrics and health/)
  return { runner, url: `http://127.0.0.1:${port}` }
}

async function statusOf(url: string): Promise<number> {
  return (await fetch(url)).status
}

/** Stands between a process and a server, until it is cut. */
async function aCable(url: string): Promise<{ url: string; cut(): Promise<void> }> {
  const to = new URL(url)
  const sockets = new Set<Socket>()
  const server: Server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.port = String((server.address() as { port: number }).port)
  const cut = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(() => (server.listening ? cut() : undefined))
  return { url: through.href, cut }
}

describe('a runner that is watched', () => {
  it('is alive and ready, and tells nothing else to whoever asks', async () => {
    const database = await aDatabase()
    const { url } = await startRunner(database.url)
    for (const path of ['/health', '/health/ready', '/metrics', '/health/ready?from=kubernetes'])
      expect([path, await statusOf(`${url}${path}`)]).toEqual([path, 200])
    expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' })
    expect(await statusOf(`${url}/pipelines`)).toBe(404)
  })

  it('stays alive and is no longer ready when the meta store is gone, and ends all the same', async () => {
    const database = await aDatabase()
    const cable = await aCable(database.url)
    const { runner, url } = await startRunner(cable.url)
    expect(await statusOf(`${url}/health/ready`)).toBe(200)
    await cable.cut()
    await waitFor(async () => (await statusOf(`${url}/health/ready`)) === 503, {
      what: 'the runner to be unready',
    })
    expect(await statusOf(`${url}/health`)).toBe(200)
    expect(runner.stderr).toContain('Connection to the meta store lost.')
    runner.kill('SIGTERM')
    expect(await runner.exited).toBe(0)
  })

  it('is not ready while it ends its last batch, and can still be watched', async () => {
    const mart = await aCountedMart({ stale: 1 })
    const { main, pipeline } = mart
    const held = await holdRow(mart, 1)
    const { runner, url } = await startRunner(main.url)
    const runId = await requestRun(main, pipeline.id)
    await held.waitForBatch()
    runner.kill('SIGTERM')
    await waitFor(async () => (await statusOf(`${url}/health/ready`)) === 503, {
      what: 'the runner to drain',
    })
    expect(await statusOf(`${url}/metrics`)).toBe(200)
    await held.release()
    expect(await runner.exited).toBe(0)
    expect(await runById(main, runId)).toMatchObject({ status: 'RUNNING', batches: 1, rows_written: 60 })
  })
})

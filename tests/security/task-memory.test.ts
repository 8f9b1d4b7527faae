import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { descendantsOf } from '../support/proc.js'
import { aRunner } from '../support/runner.js'
import { requestRun, run, runById, type StoredRun } from '../support/runs.js'
import { sampleOf } from '../support/sample.js'
import { waitFor } from '../support/wait.js'

const LIMIT_MB = 256
/** Far above the limit and far below what the functions would take: a watch reacts, it does not foresee. */
const MOST_MB = 1_024

/** Each takes 3 GB and keeps them, in another kind of memory; only the first is part of what V8 limits. */
const GREEDY = {
  heap: 'for (let n = 0; n < 3072; n++) kept.push(Array.from({ length: 131072 }, () => n + 0.5))',
  buffers: 'for (let n = 0; n < 3072; n++) kept.push(Buffer.alloc(1048576, 1))',
  one_buffer: 'kept.push(Buffer.alloc(3 * 1024 ** 3, 1))',
  shared: 'for (let n = 0; n < 3072; n++) kept.push(new Uint8Array(new SharedArrayBuffer(1048576)).fill(1))',
}

const TASKS = `import { task, type Row } from 'vitrina'
const kept: unknown[] = []
${Object.entries(GREEDY)
  .map(([name, code]) => `task('${name}', (rows: Row[]) => { ${code}; return rows })`)
  .join('\n')}
task('modest', (rows: Row[]) => rows)
`

/** The most that a process ever had in memory, as the kernel counts it. */
function peakMb(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    return 0
  }
}

let database: TestDatabase
/** In this process, which is therefore measured too. */
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina test '))
  await mkdir(join(folder, 'pipelines/typescript'), { recursive: true })
  await writeFile(join(folder, 'pipelines/typescript/greedy.ts'), TASKS)
  database = await aDatabase({ cinema: true })
  const env = {
    VITRINA_TYPESCRIPT_TASKS: join(folder, 'pipelines/typescript'),
    VITRINA_TASK_MEMORY_MB: String(LIMIT_MB),
  }
  await aRunner(database, { env, retryWaitsMs: [10] })
  return () => rm(folder, { recursive: true })
})

const pipelineWith = (body: string) =>
  aPipeline(database, {
    type: 'PYTHON',
    tasks: [
      { taskType: 'SQL', body: 'SELECT id AS film_id, title FROM content.film_work' },
      { taskType: 'PYTHON', body },
    ],
  })

/** The run, the most memory that any of its hosts had, and by how much the runner grew. */
async function watchedRun(pipelineId: string): Promise<{ run: StoredRun; peak: number; growth: number }> {
  const runId = await requestRun(database, pipelineId)
  const before = process.memoryUsage.rss()
  let peak = 0
  let growth = 0
  const run = await waitFor(
    async () => {
      for (const { pid } of descendantsOf(process.pid)) peak = Math.max(peak, peakMb(pid))
      growth = Math.max(growth, process.memoryUsage.rss() - before)
      const found = await runById(database, runId)
      return found.status === 'REQUESTED' || found.status === 'RUNNING' ? null : found
    },
    { what: `run ${runId} to end`, timeoutMs: 120_000 },
  )
  return { run, peak, growth: growth / 1024 ** 2 }
}

describe('a TypeScript function that takes more memory than allowed', () => {
  // V8 itself ends the first; the others are found by the watch.
  const sample = sampleOf(Object.keys(GREEDY), {
    key: (name) => name,
    labels: (name) => [name === 'heap' ? 'V8' : 'watch'],
  })
  for (const name of sample)
    it(`ends, and the run reports it: ${name}`, { timeout: 150_000 }, async (context) => {
      if (process.platform !== 'linux') return context.skip('the memory of a process is read in /proc')
      const { run, peak, growth } = await watchedRun((await pipelineWith(name)).id)
      expect(run).toMatchObject({
        status: 'FAILED',
        error_code: vtr('TRANSFORM_KILLED'),
        error: `Transform "${name}" used more than ${LIMIT_MB} MB of memory and was killed.`,
        error_hint: expect.stringContaining('VITRINA_TASK_MEMORY_MB'),
      })
      expect(peak).toBeGreaterThan(0)
      expect(peak).toBeLessThan(MOST_MB)
      expect(growth, 'memory of the runner').toBeLessThan(LIMIT_MB)
    })

  it('does not end the runner', async () => {
    expect(await run(database, (await pipelineWith('modest')).id)).toMatchObject({
      status: 'SUCCESS',
      error: null,
    })
  })
})

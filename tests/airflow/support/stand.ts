import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { Run, RunDetail } from '../../../src/cli/server/wire.js'
import { createClient } from '../../../src/client/api-client.js'
import { addDemoPipelines, readDemoPipelines } from '../../../src/main/demo-data.js'
import { aPipeline, type PipelineOverrides } from '../../support/builders.js'
import { aDatabase, type TestDatabase } from '../../support/database.js'
import { spawnVitrina } from '../../support/processes.js'
import { type Airflow, startAirflow } from './airflow.js'

/** Everything is written there. scripts/airflow.mjs made it, and ends whatever still has it in its environment. */
const HOME = process.env.VITRINA_TEST_AIRFLOW_HOME ?? ''
const TOKEN = 'a-token-for-airflow-tests'

/** Airflow beside Vitrina, as two neighbours: they meet in the API only. */
export interface AirflowStand {
  readonly airflow: Airflow
  readonly database: TestDatabase
  /** The address of Vitrina. */
  readonly url: string
  pipeline(overrides?: PipelineOverrides): Promise<{ id: string; name: string }>
  /** A pipeline of several batches, the first of which does not end before open(). */
  heldPipeline(): Promise<{ id: string; name: string; open(): void }>
  run(id: string): Promise<RunDetail>
  /** The runs of a pipeline, newest first. */
  runs(pipelineId: string): Promise<Run[]>
  statusOf(pipelineId: string): Promise<string>
}

export function anAirflowStand(): () => AirflowStand {
  let stand: AirflowStand
  beforeAll(async () => {
    stand = await start(HOME)
  }, 360_000)
  afterAll(() => stand?.airflow.stop())
  return () => stand
}

async function start(folder: string): Promise<AirflowStand> {
  const database = await aDatabase({ cinema: true })
  await addDemoPipelines({ DATABASE_URL: database.url }, (await readDemoPipelines()).slice(0, 3))
  const url = await startVitrina(folder, database)
  const airflow = await startAirflow({ folder: join(folder, 'airflow'), vitrina: { url, token: TOKEN } })
  const client = createClient({ url, token: TOKEN })
  const pipeline = async (overrides: PipelineOverrides = {}) => {
    const { id, spec } = await aPipeline(database, overrides)
    return { id, name: spec.name }
  }
  return {
    airflow,
    database,
    url,
    pipeline,
    heldPipeline: () => heldPipeline(folder, pipeline),
    run: async (id) => (await client.GET('/runs/{id}', { params: { path: { id } } })).data!,
    runs: async (id) => (await client.GET('/pipelines/{id}/runs', { params: { path: { id } } })).data!.items,
    statusOf: async (id) =>
      (await client.GET('/pipelines/{id}/status', { params: { path: { id } } })).data!.status,
  }
}

async function startVitrina(folder: string, database: TestDatabase): Promise<string> {
  const tasks = join(folder, 'tasks')
  mkdirSync(tasks)
  writeFileSync(join(tasks, 'held.py'), heldTasks(folder))
  const server = {
    DATABASE_URL: database.url,
    RUNNER_POLL_INTERVAL_MS: '100',
    LOG_LEVEL: 'warn',
    VITRINA_PYTHON_TASKS: tasks,
    VITRINA_TASK_TIMEOUT_SECONDS: '600',
    VITRINA_TEST_AIRFLOW_HOME: HOME,
  }
  const api = spawnVitrina(
    ['api'],
    { ...server, VITRINA_PORT: '0', VITRINA_API_TOKEN: TOKEN },
    { cwd: folder },
  )
  spawnVitrina(['runner'], server, { cwd: folder })
  const [, url = ''] = await api.waitForOutput(/API\s+(http\S+)\/api\/v1/)
  return url
}

const GATES = 10
const gateOf = (folder: string, number: number) => join(folder, `gate-${number}`)

/** A function for each gate: its batch ends when the file is gone. */
function heldTasks(folder: string): string {
  return `import os, time
from vitrina import task

def held(gate):
    def wait(rows):
        while os.path.exists(gate):
            time.sleep(0.05)
        return rows
    return wait

for number in range(${GATES}):
    task(f"held_{number}")(held(f"${gateOf(folder, 0).slice(0, -1)}{number}"))
`
}

let gates = 0

async function heldPipeline(folder: string, pipeline: AirflowStand['pipeline']) {
  const number = gates++
  writeFileSync(gateOf(folder, number), '')
  const sourceQuery = 'SELECT id AS film_id, title FROM content.film_work'
  const made = await pipeline({
    type: 'PYTHON',
    batchSize: 5,
    tasks: [
      { taskType: 'SQL', body: sourceQuery },
      { taskType: 'PYTHON', body: `held_${number}` },
    ],
  })
  return { ...made, open: () => rmSync(gateOf(folder, number), { force: true }) }
}

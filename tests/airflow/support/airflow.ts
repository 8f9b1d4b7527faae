import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processesWith } from '../../support/proc.js'
import { type SpawnedVitrina, spawnProgram } from '../../support/processes.js'
import { waitFor } from '../../support/wait.js'
import { AirflowApi } from './airflow-api.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
/** What `airflow standalone` starts too; each apart, so that each can be ended. Ports for logs would be fixed ones. */
const PARTS = [
  ['api-server'],
  ['dag-processor'],
  ['scheduler', '--skip-serve-logs'],
  ['triggerer', '--skip-serve-logs'],
]
const BUNDLE = 'airflow.dag_processing.bundles.local.LocalDagBundle'

/** A whole Airflow: scheduler with local workers, triggerer, DAG processor and API, on SQLite. */
export interface Airflow {
  readonly api: AirflowApi
  /** Runs a program of its Python, with its settings, to its end. */
  python(...args: string[]): Promise<{ code: number; output: string }>
  /** The process of the last task of a DAG that reported it. */
  pidOf(dagId: string): number
  stop(): Promise<void>
}

export interface AirflowOptions {
  /** Everything it writes goes there. */
  readonly folder: string
  readonly vitrina: { readonly url: string; readonly token: string }
}

/** The Python that scripts/airflow.mjs installed Airflow for. */
const PYTHON = process.env.VITRINA_TEST_AIRFLOW ?? ''

export async function startAirflow({ folder, vitrina }: AirflowOptions): Promise<Airflow> {
  mkdirSync(folder, { recursive: true })
  const port = await freePort()
  const env = settings(folder, port, vitrina)
  const python = (...args: string[]) => ended(spawnProgram([PYTHON, ...args], env))
  await must(python('-m', 'pip', 'install', ...PROVIDER, '--target', join(folder, 'site')))
  await must(python('-m', 'airflow', 'db', 'migrate'))
  const parts = PARTS.map((args) => spawnProgram([PYTHON, '-m', 'airflow', ...args], env, { ownGroup: true }))
  const api = new AirflowApi(`http://127.0.0.1:${port}`)
  const ready = waitFor(() => api.isReady(), { what: 'Airflow to be ready', timeoutMs: 240_000 })
  await Promise.race([ready, ...parts.map(failWith)])
  return {
    api,
    python,
    pidOf: (dagId) => Number(readFileSync(join(folder, `${dagId}.pid`), 'utf8')),
    stop: () => stop(parts, folder),
  }
}

/** Built and installed as users get it, but beside the Airflow that all checkouts on this machine share. */
const PROVIDER = [
  '--quiet',
  '--no-deps',
  '--no-index',
  '--no-build-isolation',
  'python/airflow-provider-vitrina',
]

function settings(
  folder: string,
  port: number,
  { url, token }: AirflowOptions['vitrina'],
): Record<string, string> {
  const { hostname, port: apiPort } = new URL(url)
  const bundle = (name: string, path: string) => ({
    name,
    classpath: BUNDLE,
    kwargs: { path: join(ROOT, path), refresh_interval: 300 },
  })
  return {
    AIRFLOW_HOME: folder,
    VITRINA_TEST_AIRFLOW_HOME: process.env.VITRINA_TEST_AIRFLOW_HOME ?? '',
    // Processes that give themselves a title would write it over their environment, by which they are found.
    SPT_NOENV: '1',
    PYTHONPATH: join(folder, 'site'),
    PYTHONDONTWRITEBYTECODE: '1',
    AIRFLOW__CORE__LOAD_EXAMPLES: 'False',
    AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION: 'False',
    AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS: 'True',
    AIRFLOW__CORE__EXECUTION_API_SERVER_URL: `http://127.0.0.1:${port}/execution/`,
    AIRFLOW__CORE__PARALLELISM: '4',
    AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST: JSON.stringify([
      bundle('examples', 'examples/airflow/dags'),
      bundle('tests', 'tests/airflow/dags'),
    ]),
    AIRFLOW__API__HOST: '127.0.0.1',
    AIRFLOW__API__PORT: String(port),
    AIRFLOW__API__WORKERS: '1',
    AIRFLOW__API__SECRET_KEY: randomBytes(16).toString('hex'),
    AIRFLOW__API_AUTH__JWT_SECRET: randomBytes(32).toString('hex'),
    AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL: '1',
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED: 'False',
    AIRFLOW_CONN_VITRINA_DEFAULT: JSON.stringify({ conn_type: 'vitrina', host: url, password: token }),
    AIRFLOW_CONN_VITRINA_HTTP: JSON.stringify({
      conn_type: 'http',
      host: hostname,
      port: Number(apiPort),
      extra: { Authorization: `Bearer ${token}` },
    }),
    VITRINA_TEST_URL: url,
    VITRINA_TEST_TOKEN: token,
  }
}

async function ended(program: SpawnedVitrina): Promise<{ code: number; output: string }> {
  const code = await program.exited
  return { code, output: program.stdout + program.stderr }
}

async function must(program: Promise<{ code: number; output: string }>): Promise<void> {
  const { code, output } = await program
  if (code !== 0) throw new Error(`a program of Airflow ended with code ${code}:\n${output}`)
}

async function failWith(part: SpawnedVitrina): Promise<never> {
  const { code, output } = await ended(part)
  throw new Error(`a part of Airflow ended with code ${code}:\n${output}`)
}

/** Workers and tasks have groups of their own and may outlive their scheduler, so the rest is found by its mark. */
async function stop(parts: readonly SpawnedVitrina[], home: string): Promise<void> {
  const left = () => processesWith('AIRFLOW_HOME', home)
  for (const part of parts) part.kill('SIGTERM')
  await waitFor(async () => left().length === 0, { what: 'Airflow to end', timeoutMs: 20_000 }).catch(() => {
    for (const { pid } of left()) process.kill(pid, 'SIGKILL')
  })
  await Promise.all(parts.map(({ exited }) => exited))
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

import { mkdirSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { freePorts } from './ports.js'
import { descendantsOf, type ProcessInfo } from './proc.js'
import { type SpawnedVitrina, spawnProgram } from './processes.js'
import { waitFor } from './wait.js'

/** Java needs a minute to start on a busy machine. */
const START_MS = 300_000

/** Where `npm run test:spark` has installed Spark. */
function installed(): { home: string; python: string; java: string; folder: string } {
  const {
    VITRINA_TEST_SPARK: home,
    VITRINA_TEST_SPARK_PYTHON: python,
    VITRINA_TEST_SPARK_JAVA: java,
    VITRINA_TEST_SPARK_HOME: folder,
  } = process.env
  if (!home || !python || !java || !folder) throw new Error('Start these tests with "npm run test:spark".')
  return { home, python, java, folder }
}

/** A worker of the cluster with its executors and their Python processes. */
export interface SparkWorker {
  /** From the worker down. */
  processes(): number[]
  kill(): Promise<void>
  freeze(): number[]
}

/** A real standalone cluster on loopback: a master, and workers with one core each. */
export class SparkCluster {
  readonly master: string
  readonly #env: Record<string, string>
  readonly #master: SpawnedVitrina
  #workers = 0

  private constructor(master: SpawnedVitrina, address: string, env: Record<string, string>) {
    this.#master = master
    this.master = address
    this.#env = env
  }

  static async start(): Promise<SparkCluster> {
    const { home, java, folder } = installed()
    const [port, ui] = await freePorts(2)
    const env = {
      ...sparkEnvironment(),
      SPARK_DAEMON_MEMORY: '256m',
      // A frozen worker is declared dead after this many seconds.
      SPARK_DAEMON_JAVA_OPTS: '-Dspark.worker.timeout=10 -Dspark.network.timeout=15s',
      SPARK_LOCAL_DIRS: join(folder, 'local'),
      JAVA_HOME: java,
    }
    mkdirSync(join(folder, 'local'), { recursive: true })
    const address = ['--host', '127.0.0.1', '--port', String(port), '--webui-port', String(ui)]
    const program = [join(home, 'bin/spark-class'), 'org.apache.spark.deploy.master.Master', ...address]
    const master = spawnProgram(program, env)
    await master.waitForOutput(/elected leader/, START_MS)
    return new SparkCluster(master, `spark://127.0.0.1:${port}`, env)
  }

  /** Starts another worker and waits until the master knows it. */
  async addWorker(): Promise<SparkWorker> {
    const { home, folder } = installed()
    this.#workers += 1
    const number = this.#workers
    const [ui] = await freePorts(1)
    const args = ['--host', '127.0.0.1', '--cores', '1', '--memory', '1g', '--webui-port', String(ui)]
    const program = [join(home, 'bin/spark-class'), 'org.apache.spark.deploy.worker.Worker', ...args]
    const work = ['--work-dir', join(folder, `worker-${number}`), this.master]
    const worker = spawnProgram([...program, ...work], this.#env)
    await worker.waitForOutput(/Successfully registered with master/, START_MS)
    const processes = () => [worker.pid, ...descendantsOf(worker.pid).map(({ pid }) => pid)]
    return {
      processes,
      kill: async () => {
        for (const pid of processes()) signal(pid, 'SIGKILL')
        await worker.exited
      },
      freeze: () => {
        // From the top down: a parent that runs would notice its stopped children.
        const all = processes()
        for (const pid of all) signal(pid, 'SIGSTOP')
        return all
      },
    }
  }

  /** Everything that it printed: which workers it lost. */
  get log(): string {
    return this.#master.stderr + this.#master.stdout
  }

  /** A profile for this cluster, as SPARK_PROFILES wants it. */
  profile(conf: Record<string, string> = {}): Record<string, unknown> {
    const { home } = installed()
    return { submit: join(home, 'bin/spark-submit'), master: this.master, conf: { ...CONF, ...conf } }
  }
}

/** A profile without a cluster: the driver itself executes the tasks, two at a time, and tries each four times. */
export function profileWithoutCluster(conf: Record<string, string> = {}): Record<string, unknown> {
  const submit = join(installed().home, 'bin/spark-submit')
  return { submit, master: 'local[2,4]', conf: { ...CONF, ...conf } }
}

/** Small, and quick to notice that a process does not answer. */
const CONF: Record<string, string> = {
  'spark.driver.host': '127.0.0.1',
  'spark.driver.bindAddress': '127.0.0.1',
  'spark.driver.memory': '512m',
  'spark.executor.memory': '512m',
  'spark.executor.cores': '1',
  'spark.executor.heartbeatInterval': '2s',
  'spark.network.timeout': '12s',
  'spark.network.timeoutInterval': '3s',
  'spark.storage.blockManagerHeartbeatTimeoutMs': '12000',
}

/** What a runner needs to find Java and the right Python. */
export function sparkEnvironment(): Record<string, string> {
  const { home, python, java, folder } = installed()
  return {
    SPARK_HOME: home,
    JAVA_HOME: java,
    SPARK_LOCAL_IP: '127.0.0.1',
    PYSPARK_PYTHON: python,
    PYSPARK_DRIVER_PYTHON: python,
    VITRINA_TEST_SPARK_HOME: folder,
  }
}

/** A folder that is removed after all tests. */
export function aSparkFolder(): string {
  return mkdtempSync(join(installed().folder, 'folder-'))
}

export function thaw(pids: readonly number[]): void {
  for (const pid of pids.toReversed()) signal(pid, 'SIGCONT')
}

/** The processes of the driver that a runner has started. */
export function driverOf(runner: SpawnedVitrina): ProcessInfo[] {
  return descendantsOf(runner.pid).filter(({ command }) => command.includes('vitrina_spark.py'))
}

export async function driverStarted(runner: SpawnedVitrina): Promise<ProcessInfo[]> {
  return waitFor(
    async () => {
      const found = driverOf(runner)
      return found.length > 0 && found
    },
    { what: 'the runner to start a driver', timeoutMs: START_MS },
  )
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // It has ended.
  }
}

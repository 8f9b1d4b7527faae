import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Run } from '../../../src/cli/server/wire.js'
import { type ApiClient, createClient } from '../../../src/client/api-client.js'
import { freePorts } from '../../support/ports.js'
import { waitFor } from '../../support/wait.js'

/** What a build and a start may take on a loaded machine with two cores. */
export const MAKE_MS = 30 * 60_000
const PODMAN_MS = 120_000
/** scripts/test-stand.mjs copied the project to it, and ends every process that still has it in its environment. */
const FOLDER = process.env.VITRINA_TEST_STAND_FOLDER ?? ''

interface Ended {
  readonly code: number
  readonly output: string
}

/** A fresh clone of the project, and what `make` starts there. */
export class Stand {
  readonly folder: string
  readonly ports: { readonly api: number; readonly database: number; readonly search: number }
  readonly #env: NodeJS.ProcessEnv

  private constructor(folder: string, [api = 0, database = 0, search = 0]: readonly number[]) {
    this.folder = folder
    this.ports = { api, database, search }
    this.#env = {
      ...process.env,
      VITRINA_PUBLISH: `127.0.0.1:${api}`,
      POSTGRES_PUBLISH: `127.0.0.1:${database}`,
      ELASTICSEARCH_PUBLISH: `127.0.0.1:${search}`,
      RUNNER_LEASE_SECONDS: '5',
    }
  }

  static async create(): Promise<Stand> {
    return new Stand(FOLDER, await freePorts(3))
  }

  /** As an operator types it. */
  make(...args: readonly string[]): Promise<Ended> {
    const engine = `ENGINE=${process.env.VITRINA_TEST_STAND}`
    return run('make', [...args, engine], { cwd: this.folder, env: this.#env, timeout: MAKE_MS })
  }

  podman(...args: readonly string[]): Promise<Ended> {
    return run('podman', args, { cwd: this.folder, env: this.#env, timeout: PODMAN_MS })
  }

  /** A value of deploy/.env. */
  secret(name: string): string {
    const text = readFileSync(join(this.folder, 'deploy/.env'), 'utf8')
    return new RegExp(`^${name}=(.*)$`, 'm').exec(text)?.[1] ?? ''
  }

  setSecret(name: string, value: string): void {
    const file = join(this.folder, 'deploy/.env')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${value}`))
  }

  /** Names of the containers of a service that run. */
  async containers(service: string, ...filters: readonly string[]): Promise<string[]> {
    const label = `label=com.docker.compose.service=${service}`
    const { output } = await this.podman('ps', '--filter', label, ...filters, '--format', '{{.Names}}')
    return output.split('\n').filter((line) => line !== '')
  }

  async container(service: string): Promise<string> {
    const [name] = await this.containers(service)
    if (name === undefined) throw new Error(`no container of ${service} runs`)
    return name
  }

  /** In the one container of a service, as its user. */
  async exec(service: string, script: string): Promise<Ended> {
    return this.podman('exec', await this.container(service), 'sh', '-c', script)
  }

  /** By the check that the compose file has: this podman has nothing that would run it by itself. */
  async untilHealthy(service: string): Promise<void> {
    await waitFor(
      async () => {
        const { code, output } = await this.podman('healthcheck', 'run', await this.container(service))
        if (code !== 0) throw new Error(output)
        return true
      },
      { what: `${service} to be healthy`, timeoutMs: 300_000 },
    )
  }

  get client(): ApiClient {
    return createClient({
      url: `http://127.0.0.1:${this.ports.api}`,
      token: this.secret('VITRINA_API_TOKEN'),
    })
  }

  async run(pipelineId: string): Promise<Run> {
    const params = { path: { id: pipelineId } }
    const { data } = await this.client.POST('/pipelines/{id}/run', { params })
    return this.untilEnded(data!.run_id)
  }

  async untilEnded(runId: string): Promise<Run> {
    return waitFor(
      async () => {
        const { data } = await this.client.GET('/runs/{id}', { params: { path: { id: runId } } })
        return data !== undefined && data.finished_at !== null ? data : null
      },
      { what: `run ${runId} to end`, timeoutMs: 300_000 },
    )
  }

  /** As the administrator. */
  async query(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: this.ports.database,
      user: 'vitrina',
      password: this.secret('POSTGRES_PASSWORD'),
      database: 'cinema',
    })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  async documents(index: string): Promise<number> {
    const at = `http://127.0.0.1:${this.ports.search}/${index}`
    await fetch(`${at}/_refresh`, { method: 'POST' })
    const answer = (await (await fetch(`${at}/_count`)).json()) as { count: number }
    return answer.count
  }
}

interface RunOptions {
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly timeout: number
}

/** With its time limit; output and errors in one. */
function run(file: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  return new Promise((resolve) => {
    const limits = { ...options, killSignal: 'SIGKILL', maxBuffer: 2 ** 26 } as const
    execFile(file, args, limits, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1
      resolve({ code, output: `${stdout}${stderr}` })
    })
  })
}

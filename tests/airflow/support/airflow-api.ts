import { waitFor } from '../../support/wait.js'

/** Ends of a task instance. */
const OVER = ['success', 'failed', 'upstream_failed', 'skipped', 'removed']
const TIMEOUT_MS = 180_000

interface TaskInstance {
  readonly task_id: string
  readonly map_index: number
  readonly state: string | null
  readonly try_number: number
}

/** A task instance of a DAG run. */
export interface TaskOf {
  readonly dag: string
  readonly run: string
  readonly task: string
}

/** The public REST API of Airflow: what a person does in its pages. */
export class AirflowApi {
  readonly #url: string
  #token: string | null = null

  constructor(url: string) {
    this.#url = url
  }

  /** Every part says that it lives, and the DAGs are there. */
  async isReady(): Promise<boolean> {
    const health = await this.#get<Record<string, { status: string | null }>>('/monitor/health')
    const parts = ['metadatabase', 'scheduler', 'triggerer', 'dag_processor']
    if (!parts.every((part) => health[part]?.status === 'healthy')) return false
    const { dags } = await this.#get<{ dags: { dag_id: string }[] }>('/dags')
    return ['vitrina_http', 'vitrina_marts', 'one_run', 'sensors'].every((id) =>
      dags.some(({ dag_id }) => dag_id === id),
    )
  }

  importErrors(): Promise<{ total_entries: number }> {
    return this.#get('/importErrors')
  }

  /** Asks for a DAG run; answers its id. */
  async trigger(dag: string, conf: object = {}): Promise<string> {
    const made = await this.#send<{ dag_run_id: string }>('POST', `/dags/${dag}/dagRuns`, {
      logical_date: null,
      conf,
    })
    return made.dag_run_id
  }

  async tasks(dag: string, run: string): Promise<TaskInstance[]> {
    const path = `/dags/${dag}/dagRuns/${encodeURIComponent(run)}/taskInstances`
    return (await this.#get<{ task_instances: TaskInstance[] }>(path)).task_instances
  }

  /** Waits until a task is in one of these states, and fails with its log when it ended in another. */
  async untilTask(task: TaskOf, ...states: readonly string[]): Promise<TaskInstance> {
    const what = `task ${task.task} of ${task.dag} to be ${states.join(' or ')}`
    const look = async () => {
      const found = (await this.tasks(task.dag, task.run)).find(({ task_id }) => task_id === task.task)
      return found !== undefined && [...states, ...OVER].includes(found.state ?? '') ? found : null
    }
    const seen = await waitFor(look, { what, timeoutMs: TIMEOUT_MS })
    if (states.includes(seen.state ?? '')) return seen
    throw new Error(`waited for ${what}, but it is ${seen.state}:\n${await this.log(task, seen.try_number)}`)
  }

  /** Waits until every task of a DAG run has succeeded. */
  async untilSuccess(dag: string, run: string): Promise<TaskInstance[]> {
    const all = await waitFor(
      async () => {
        const tasks = await this.tasks(dag, run)
        return tasks.length > 0 && tasks.every(({ state }) => OVER.includes(state ?? '')) ? tasks : null
      },
      { what: `all tasks of ${dag} to end`, timeoutMs: TIMEOUT_MS },
    )
    for (const { task_id, state, try_number, map_index } of all)
      if (state !== 'success')
        throw new Error(
          `${dag}.${task_id} is ${state}:\n${await this.log({ dag, run, task: task_id }, try_number, map_index)}`,
        )
    return all
  }

  async log(task: TaskOf, tryNumber: number, mapIndex = -1): Promise<string> {
    const path = `${this.#path(task)}/logs/${tryNumber}?full_content=true&map_index=${mapIndex}`
    const { content } = await this.#get<{ content: unknown[] }>(path)
    return content.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  }

  async xcom(task: TaskOf, key = 'return_value'): Promise<Record<string, unknown>> {
    const { value } = await this.#get<{ value: unknown }>(`${this.#path(task)}/xcomEntries/${key}`)
    return (typeof value === 'string' ? JSON.parse(value) : value) as Record<string, unknown>
  }

  async links(task: TaskOf): Promise<Record<string, string | null>> {
    const path = `${this.#path(task)}/links`
    return (await this.#get<{ extra_links: Record<string, string | null> }>(path)).extra_links
  }

  async markFailed(task: TaskOf): Promise<void> {
    await this.#send('PATCH', this.#path(task), { new_state: 'failed' })
  }

  async clear({ dag, run, task }: TaskOf): Promise<void> {
    await this.#send('POST', `/dags/${dag}/clearTaskInstances`, {
      dry_run: false,
      dag_run_id: run,
      task_ids: [task],
      only_failed: false,
      only_running: false,
      reset_dag_runs: true,
    })
  }

  #path({ dag, run, task }: TaskOf): string {
    return `/dags/${dag}/dagRuns/${encodeURIComponent(run)}/taskInstances/${task}`
  }

  #get<T>(path: string): Promise<T> {
    return this.#send('GET', path)
  }

  async #send<T>(method: string, path: string, body?: object): Promise<T> {
    this.#token ??= await this.#signIn()
    const response = await fetch(`${this.#url}/api/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        'content-type': 'application/json',
        accept: 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!response.ok)
      throw new Error(`Airflow answered ${method} ${path} with ${response.status}: ${await response.text()}`)
    return (await response.json()) as T
  }

  async #signIn(): Promise<string> {
    const response = await fetch(`${this.#url}/auth/token`)
    return ((await response.json()) as { access_token: string }).access_token
  }
}

import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { anApi } from '../support/api.js'
import { aPipeline, type PipelineOverrides } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'

const ROWS = 300
const QUERY = 'SELECT id, name, modified FROM content.thing'
const PYTHON = 'from vitrina import task\n\n@task("same")\ndef same(rows):\n    return rows\n'
const TYPESCRIPT = "import { task } from 'vitrina'\ntask('other', (rows) => rows)\n"

let main: TestDatabase
beforeAll(async () => {
  main = await aDatabase()
  await main.query(`
    CREATE SCHEMA content;
    CREATE TABLE content.thing (id integer PRIMARY KEY, name text, modified timestamptz DEFAULT now());
    CREATE TABLE content.plain (id integer, name text);
    INSERT INTO content.thing SELECT n, 'thing ' || n FROM generate_series(1, ${ROWS}) AS n;
    GRANT USAGE ON SCHEMA content TO vitrina_reader;
    GRANT SELECT ON ALL TABLES IN SCHEMA content TO vitrina_reader;
    ANALYZE content.thing, content.plain`)
})

/** A program instead of spark-submit: it records its arguments, and executes `lines`. */
async function aProgram(lines: string): Promise<{ file: string; folder: string }> {
  const folder = await aFolder()
  const file = join(folder, 'spark-submit')
  await writeFile(file, `#!/bin/sh\nprintf '%s\\n' "$@" >> "${folder}/arguments"\n${lines}\n`)
  await chmod(file, 0o755)
  return { file, folder }
}

function aSparkPipeline(overrides: PipelineOverrides = {}) {
  return aPipeline(main, { sourceQuery: QUERY, keyColumns: ['id'], engine: 'spark', ...overrides })
}

interface Verdict {
  readonly valid: boolean
  readonly errors: readonly { code: string; field: string; message: string; hint: string }[]
}

async function verdictOn(overrides: PipelineOverrides, submit: string): Promise<Verdict> {
  const folder = await aFolder()
  await writeFile(join(folder, 'same.py'), PYTHON)
  await writeFile(join(folder, 'other.ts'), TYPESCRIPT)
  const { id } = await aSparkPipeline(overrides)
  const env = {
    SPARK_PROFILES: JSON.stringify({ cluster: { master: 'spark://127.0.0.1:1', submit } }),
    VITRINA_PYTHON_TASKS: folder,
    VITRINA_TYPESCRIPT_TASKS: folder,
  }
  const api = anApi(main.loginUrl('meta'), { readerUrl: main.loginUrl('reader'), env })
  try {
    return (await api.post(`/pipelines/${id}/validate`)).json() as Verdict
  } finally {
    await api.close()
  }
}

const steps = (...names: string[]): PipelineOverrides => ({
  type: 'PYTHON',
  tasks: [{ taskType: 'SQL', body: QUERY }, ...names.map((body) => ({ taskType: 'PYTHON', body }) as const)],
})

describe('validate, for engine: spark', () => {
  it('accepts what Spark can execute', async () => {
    const { file } = await aProgram('exit 0')
    const accepted: PipelineOverrides[] = [
      {},
      { engineOptions: { profile: 'cluster' }, ...steps('same') },
      { mode: 'incremental', capture: 'xmin' },
      { fullStrategy: 'replace' },
    ]
    for (const overrides of accepted)
      expect(await verdictOn(overrides, file)).toMatchObject({ valid: true, errors: [] })
  })

  it.each<[string, PipelineOverrides, string, RegExp]>([
    ['a TypeScript task', steps('other'), 'engine', /a task of this pipeline is written in TypeScript/],
    [
      'a query that joins or groups rows',
      { sourceQuery: 'SELECT count(*) AS n, name AS id FROM content.thing GROUP BY name' },
      'engine',
      /cannot be cut into parts: the query joins or groups rows/,
    ],
    [
      'a check of rows',
      { checks: [{ name: 'named', type: 'not_null', column: 'name', on_failure: 'fail' }] },
      'engine',
      /cannot evaluate checks of the rows of a batch: named/,
    ],
    [
      'no index on the key',
      { sourceQuery: 'SELECT id, name FROM content.plain' },
      'engine',
      /no index of the source begins with id/,
    ],
    [
      'rows in the order of a key',
      { mode: 'incremental', incrementalKey: 'modified', incrementalIdKey: 'id' },
      'engine',
      /an incremental run reads rows in the order of modified/,
    ],
    [
      'an unknown profile',
      { engineOptions: { profile: 'elsewhere' } },
      'engine_options',
      /The Spark profile "elsewhere" is not configured; configured: cluster/,
    ],
  ])('rejects %s', async (_what, overrides, field, message) => {
    const { file } = await aProgram('exit 0')
    const { valid, errors } = await verdictOn(overrides, file)
    expect(valid).toBe(false)
    expect(errors).toMatchObject([{ field }])
    expect(errors[0]!.message).toMatch(message)
    expect(errors[0]!.code).toBe(field === 'engine' ? 'ENGINE_UNSUPPORTED' : 'ENGINE_UNAVAILABLE')
    expect(errors[0]!.hint).not.toBe('')
  })

  it('rejects a program that is not on this machine', async () => {
    const { errors } = await verdictOn({}, 'spark-submit')
    expect(errors).toMatchObject([
      {
        code: 'ENGINE_UNAVAILABLE',
        field: 'engine_options',
        message:
          'The program "spark-submit" of the Spark profile was not found on this machine, or cannot be executed.',
      },
    ])
  })
})

describe('a runner', () => {
  it('fails a run whose profile it does not know', async () => {
    const { id } = await aSparkPipeline({ engineOptions: { profile: 'cluster' } })
    await aRunner(main)
    expect(await run(main, id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-5006' })
  })

  it('fails a run that cannot be cut into parts, also if it was never validated', async () => {
    const { id } = await aSparkPipeline({ sourceQuery: 'SELECT id, name FROM content.plain' })
    await aRunner(main)
    expect(await run(main, id)).toMatchObject({ status: 'FAILED', error_code: 'VTR-5005' })
  })

  it('starts the driver three times, without a secret in its arguments, and reports its reason', async () => {
    const problem = '{"message": "The cluster is on holiday.", "hint": "Wait."}'
    const { file, folder } = await aProgram(
      `printf '%s' "$VITRINA_SPARK_JOB" > "$(dirname "$0")/job"; echo 'vitrina-problem ${problem}'; exit 1`,
    )
    const conf = { 'spark.executor.memory': '1g', 'spark.authenticate.secret': 'hush-hush' }
    const SPARK_PROFILES = JSON.stringify({ cluster: { master: 'spark://127.0.0.1:1', submit: file, conf } })
    const { id } = await aSparkPipeline({ parallelism: 3 })
    const runner = await aRunner(main, { env: { SPARK_PROFILES } })
    const failed = await run(main, id)
    expect(failed).toMatchObject({ status: 'FAILED', error_code: 'VTR-5007', error_hint: 'Wait.' })
    expect(failed.error).toMatch(
      /ended with code 1, 3 times without completing a part: The cluster is on holiday/,
    )
    const words = (await readFile(join(folder, 'arguments'), 'utf8')).split('\n')
    expect(words.filter((word) => word === 'spark.executor.memory=1g')).toHaveLength(3)
    const secrets = ['hush-hush', new URL(main.loginUrl('writer')).password]
    for (const secret of secrets) expect(words.join('\n')).not.toContain(secret)
    const job = JSON.parse(await readFile(join(folder, 'job'), 'utf8'))
    expect(job).toMatchObject({ conf: { 'spark.authenticate.secret': 'hush-hush' } })
    expect(job.meta).toBe(main.loginUrl('writer'))
    await runner.stop()
  })

  it('stores every statement that a part needs, and no secret', async () => {
    const { file } = await aProgram('exit 1')
    const SPARK_PROFILES = JSON.stringify({ cluster: { master: 'spark://127.0.0.1:1', submit: file } })
    const { id } = await aSparkPipeline({ parallelism: 3 })
    await aRunner(main, { env: { SPARK_PROFILES } })
    const { id: runId } = await run(main, id)
    const [row] = await main.query<{ plan: { job: Record<string, unknown> } }>(
      'SELECT parts_plan AS plan FROM etl.etl_runs WHERE id = $1',
      [runId],
    )
    const { job } = row!.plan
    expect(job).toMatchObject({
      engine: 'spark',
      isMain: true,
      transforms: [],
      read: { conditions: [expect.any(String), expect.any(String), expect.any(String)] },
      write: { gather: null, mode: 'fill', copy: expect.stringMatching(/^COPY pg_temp\.vitrina_batch/) },
      parts: { claim: { values: ['owner', 'lease', 'run', 'tags', 'part', 'snapshot'] } },
      ledger: { hold: { values: ['pipeline', 'fence'] } },
    })
    expect(JSON.stringify(row)).not.toContain(new URL(main.loginUrl('writer')).password)
  })
})

import { beforeAll, describe, expect, it } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { createChannels } from '../../src/main/notifications.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aDispatcher, aReportingPipeline, aRule, webhookEnv } from '../support/notifications.js'
import { anHttpReceiver } from '../support/receivers.js'
import { aRunner } from '../support/runner.js'
import { run } from '../support/runs.js'
import { someTasks } from '../support/tasks.js'
import { waitFor } from '../support/wait.js'

// PostgreSQL stores neither NUL nor half of a surrogate pair.
const FUNCTIONS: Record<string, string> = {
  prints_nul: "console.log('before'); console.log('a\\0b'); console.log('after'); return rows",
  // A line is cut after 2,000 units.
  prints_long_emoji: "console.log('x' + '😀'.repeat(2000)); console.log('after'); return rows",
  throws_nul: "throw new Error('a\\0b')",
  throws_half: "throw new Error('a\\ud83db')",
  returns_nul_column: "return rows.map((row) => ({ ...row, ['a\\0b']: 1 }))",
  returns_endless_column: "return rows.map((row) => ({ ...row, ['x'.repeat(1_000_000)]: 1 }))",
}

let database: TestDatabase

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
})

async function aRunnerWithFunctions(): Promise<void> {
  const tasks = Object.entries(FUNCTIONS).map(([name, body]) => `task('${name}', (rows) => { ${body} })`)
  const { folder } = await someTasks({
    'typescript/texts.ts': `import { task } from 'vitrina'\n${tasks.join('\n')}\n`,
  })
  await aRunner(database, {
    env: { VITRINA_TYPESCRIPT_TASKS: `${folder}/typescript` },
    retryWaitsMs: [10],
  })
}

async function runOf(body: string) {
  const sourceQuery = 'SELECT id AS film_id, title FROM content.film_work'
  const { id } = await aPipeline(database, {
    type: 'PYTHON',
    sourceQuery,
    tasks: [
      { taskType: 'SQL', body: sourceQuery },
      { taskType: 'PYTHON', body },
    ],
  })
  return run(database, id)
}

/** The log up to the end of the run. */
async function logOf(runId: string): Promise<string[]> {
  const rows = await waitFor(
    async () => {
      const found = await database.query<{ message: string }>(
        'SELECT message FROM etl.etl_run_log WHERE run_id = $1 ORDER BY id',
        [runId],
      )
      return found.some(({ message }) => /^Run (?:succeeded|failed)\.$/.test(message)) && found
    },
    { what: 'the end in the log' },
  )
  return rows.map(({ message }) => message)
}

describe('a function with text that PostgreSQL cannot store', () => {
  it('does not keep later lines, its own and those of other runs, out of the database', async () => {
    await aRunnerWithFunctions()
    const printed = await runOf('prints_nul')
    expect(printed.status).toBe('SUCCESS')
    const [first, second] = [await logOf(printed.id), await logOf((await runOf('prints_long_emoji')).id)]
    expect(first).toEqual(expect.arrayContaining(['before', 'a\ufffdb', 'after']))
    expect(second).toContain('after')
  })

  it.each(['throws_nul', 'throws_half', 'returns_nul_column'])(
    'ends its run, with the text that can be stored: %s',
    async (name) => {
      await aRunnerWithFunctions()
      const ended = await runOf(name)
      expect(ended).toMatchObject({ status: 'FAILED', error: expect.stringContaining('a\ufffdb') })
      expect(await logOf(ended.id)).toContain('Run failed.')
    },
  )

  it('stores no more of a hint than of an error', async () => {
    await aRunnerWithFunctions()
    const { status, error, error_hint: hint } = await runOf('returns_endless_column')
    expect([status, error!.length, hint!.length]).toEqual(['FAILED', 4_000, 4_000])
  })
})

it.each(['', 'x'])('a message is cut between characters (%j)', async (start) => {
  const receiver = await anHttpReceiver()
  const env = {
    VITRINA_CHANNELS: JSON.stringify({ hook: { type: 'slack', url: `${receiver.url}/services/T0` } }),
    VITRINA_NOTIFY_ALLOWED_HOSTS: '127.0.0.1',
  }
  const at = '2026-01-01T00:00:00Z'
  const about = { event: 'failed', key: 'X', pipelineId: 'p', pipelineName: 'films', runId: null }
  await createChannels(readSettings(env)).send({
    ...{ id: 'm1', ruleName: 'r', channel: 'hook', event: 'failed', key: 'X', createdAt: at },
    events: [{ id: 1, at, ...about, data: { error: start + '😀'.repeat(400) } }],
  })
  expect(receiver.posts[0]!.body).toContain('😀')
  // Half a pair is written as an escape, which strict parsers refuse.
  expect(receiver.posts[0]!.body).not.toMatch(/\\ud[89a-f]/i)
})

it('a receiver that responds with NUL is given up like any other', async () => {
  const own = await aDatabase()
  const receiver = await anHttpReceiver()
  receiver.answer = (response) => response.writeHead(500).end('broken \0 here')
  await aRule(own)
  await (await aReportingPipeline(own)).fail()
  const dispatcher = aDispatcher(own, { env: webhookEnv(receiver.url), mostAttempts: 1 })
  await dispatcher.deliver()
  const messages = await own.query('SELECT status, last_error FROM etl.etl_notification_messages')
  expect(messages).toEqual([{ status: 'DEAD', last_error: expect.stringContaining('broken \ufffd here') }])
})

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { spawnVitrina } from '../support/processes.js'
import { run } from '../support/runs.js'
import { SPIES, type SpyReport, seenBySpies, writeSpies } from '../support/spying-tasks.js'

interface Attack {
  readonly database: TestDatabase
  readonly folder: string
  readonly url: string
  readonly token: string
}

/** Secrets of every kind, all with one text in them, in the environment as an operator would set them. */
async function anAttack(commands: readonly string[], env: Readonly<Record<string, string>>): Promise<Attack> {
  const [folder, database, [port = 0]] = [
    await aFolder(),
    await aDatabase({ cinema: true }),
    await freePorts(1),
  ]
  const secret = `canary-${randomUUID()}`
  await writeSpies(folder, secret)
  const address = new URL(database.url)
  // Every address that is derived from this one holds it too.
  address.searchParams.set('fallback_application_name', secret)
  const secrets = {
    DATABASE_URL: address.href,
    VITRINA_API_TOKEN: secret,
    VITRINA_CONNECTION_ELSEWHERE_URL: `postgres://user:${secret}@127.0.0.1:1/x`,
    AWS_SECRET_ACCESS_KEY: secret,
    SOME_OTHER_SECRET: secret,
  }
  for (const command of commands) {
    const part = spawnVitrina([command], { ...secrets, ...env, VITRINA_PORT: String(port) }, { cwd: folder })
    if (command !== 'runner') await part.waitForOutput(/API\s+http/)
  }
  return { database, folder, url: `http://127.0.0.1:${port}/api/v1`, token: secret }
}

async function looksDuringARun({ database, folder }: Attack): Promise<SpyReport[]> {
  const { id } = await aPipeline(database, {
    type: 'PYTHON',
    tasks: [
      { taskType: 'SQL', body: 'SELECT id AS film_id, title FROM content.film_work' },
      ...SPIES.map((body) => ({ taskType: 'PYTHON' as const, body })),
    ],
  })
  expect(await run(database, id)).toMatchObject({ status: 'SUCCESS', error: null })
  return seenBySpies(folder)
}

async function looksDuringAValidation({ folder, url, token }: Attack): Promise<SpyReport[]> {
  const draft = {
    name: 'spied',
    target_table: 'analytics.spied',
    key_columns: ['film_id'],
    tasks: [
      { task_type: 'SQL', body: 'SELECT id AS film_id, title FROM content.film_work' },
      ...SPIES.map((body) => ({ task_type: 'PYTHON', body })),
    ],
  }
  for (const route of ['validate', 'preview']) {
    const answer = await fetch(`${url}/${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(draft),
    })
    expect([route, answer.status, await answer.text()]).toEqual([route, 200, expect.any(String)])
  }
  return seenBySpies(folder)
}

/** Both languages have looked, at both moments. */
function expectAllLooked(seen: readonly SpyReport[]): void {
  const looks = new Set(seen.map(({ language, phase }) => `${language} ${phase}`))
  expect([...looks].sort()).toEqual(['python batch', 'python load', 'typescript batch', 'typescript load'])
}

const WAYS = [
  { name: 'of a runner and an API started alone', commands: ['api', 'runner'] },
  { name: 'below vitrina up', commands: ['up'] },
]

describe('a task function', () => {
  for (const { name, commands } of WAYS)
    it(`finds no secret in the environment or the command line of any process ${name}`, async () => {
      const attack = await anAttack(commands, { VITRINA_TASK_ISOLATION: 'off' })
      for (const look of [looksDuringARun, looksDuringAValidation]) {
        const seen = await look(attack)
        expectAllLooked(seen)
        expect(seen.flatMap(({ found }) => found)).toEqual([])
        // It did read what it was after: otherwise this test would prove nothing.
        for (const one of seen)
          expect([one.language, one.phase, one.parentEnviron]).toEqual([
            one.language,
            one.phase,
            expect.any(Number),
          ])
      }
    })

  it('in its own namespace reads neither environment nor memory of the processes of Vitrina', async (context) => {
    if (!canUnshare()) return context.skip('user namespaces are not available here')
    const attack = await anAttack(['up'], { VITRINA_TASK_ISOLATION: 'required' })
    for (const look of [looksDuringARun, looksDuringAValidation]) {
      const seen = await look(attack)
      expectAllLooked(seen)
      expect(seen.flatMap(({ found }) => found)).toEqual([])
      for (const one of seen) {
        expect(String(one.parentEnviron)).toMatch(/EACCES|EPERM|Permission denied/)
        expect(one.parentMemory).toMatch(/EACCES|EPERM|Permission denied/)
      }
    }
  })
})

function canUnshare(): boolean {
  try {
    execFileSync('unshare', ['--user', '--map-current-user', '--', 'true'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { ROOT } from '../support/document.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { spawnVitrina } from '../support/processes.js'
import { readThrough, type Stage } from '../support/reader.js'

async function aStage(database: TestDatabase): Promise<Stage> {
  const [port] = await freePorts(1)
  return {
    folder: await aFolder(),
    database,
    env: {
      VITRINA_PORT: String(port),
      VITRINA_URL: `http://127.0.0.1:${port}`,
      RUNNER_POLL_INTERVAL_MS: '100',
    },
    instead: [
      ['CREATE DATABASE shop;', ''],
      ['postgres://administrator:password@localhost:5432/shop', database.url],
      ['127.0.0.1:8080', `127.0.0.1:${port}`],
      ['examples/cinema/', join(ROOT, 'examples/cinema/')],
    ],
  }
}

/** As "npm run demo" leaves it. */
async function aDemo(): Promise<Stage> {
  const database = await aDatabase({ cinema: true })
  const bare = await aStage(database)
  const stage = { ...bare, env: { ...bare.env, DATABASE_URL: database.url } }
  const demo = spawnVitrina(['demo'], stage.env, { cwd: stage.folder })
  await demo.waitForOutput(/Ctrl-C/, 120_000)
  return stage
}

it('R7.7 the guide to a first mart works to the letter', async () => {
  await readThrough('docs/guides/first-mart.md', await aStage(await aDatabase({ migrated: false })))
})

it.each(['README', 'docs/demo', 'docs/guides/first-mart'])(
  'R7.7 the Russian %s has the commands of the English one',
  async (document) => {
    const commands = async (file: string) =>
      [...(await readFile(join(ROOT, file), 'utf8')).matchAll(/^```\w*\n[\s\S]*?^```$/gm)].map(
        ([block]) => block,
      )
    expect(await commands(`${document}.ru.md`)).toEqual(await commands(`${document}.md`))
  },
)

it.each([
  'docs/demo.md',
  'docs/API.md',
  'docs/guides/python-tasks.md',
  'docs/guides/pipelines-as-files.md',
  'docs/guides/scrolling-showcase.md',
  'docs/guides/incremental-without-loss.md',
  'docs/guides/zero-downtime-refresh.md',
])('R7.7 %s works to the letter beside the demo', async (file) => {
  await readThrough(file, await aDemo())
})

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { ROOT } from '../support/document-blocks.js'
import { freePorts } from '../support/ports.js'
import { spawnVitrina } from '../support/processes.js'
import { readThrough, type Stage } from '../support/read-through.js'
import { someOf } from '../support/sample.js'
import { DOCUMENTS, TRANSLATED } from './documents.js'
import { aStage, aStageOn } from './stage.js'

it('R7.7 every guide is carried out by a test', async () => {
  const guides = (await readdir(join(ROOT, 'docs/guides'))).map((name) => `docs/guides/${name}`)
  const found = ['README.md', 'SECURITY.md', 'docs/demo.md', 'docs/API.md', ...guides].filter(
    (file) => !file.endsWith('.ru.md'),
  )
  expect(Object.values(DOCUMENTS).flat().sort()).toEqual(found.sort())
})

it.each(TRANSLATED)('R7.7 the Russian %s has the commands of the English one', async (document) => {
  const commands = async (file: string) =>
    [...(await readFile(join(ROOT, file), 'utf8')).matchAll(/^```\w*\n[\s\S]*?^```$/gm)].map(
      ([block]) => block,
    )
  expect(await commands(`${document}.ru.md`)).toEqual(await commands(`${document}.md`))
})

describe('beside an empty database', { timeout: 120_000 }, () => {
  it.each(DOCUMENTS.emptyDatabase)('R7.7 %s works exactly as written', async (file) => {
    const database = await aDatabase({ migrated: false })
    const stage = await aStage(database)
    await readThrough(file, {
      ...stage,
      env: { ...stage.env, VITRINA_TEST_DATABASE_URL: inject('server').url },
      instead: [
        ['CREATE DATABASE shop;', ''],
        ['postgres://administrator:password@localhost:5432/shop', database.url],
        [/(?<=127\.0\.0\.1:\d+)\/shop\b/g, new URL(database.url).pathname],
        // A test that builds, or runs all tests, would never end: built it is, and one file says what a run says.
        [/^npm run build$/gm, ''],
        [/^npm test$/gm, `npm --prefix "${ROOT}" test -- --no-check src/sql/copy-text.test.ts`],
        ...stage.instead,
      ],
    })
  })
})

/**
 * Fewer rows in smaller batches: as many batches as the document has, to pause and to crash between, in less time. How
 * far a run gets until then depends on the machine.
 */
function asPresented({ env, instead, ...stage }: Stage): Stage {
  return {
    ...stage,
    env: { ...env, RUNNER_LEASE_SECONDS: '5' },
    instead: [
      ['--films 1000 --ratings 200000', '--films 100 --ratings 40000'],
      ["'{rating_id}', 100", "'{rating_id}', 20"],
      [/\b(29800|298|174201|1743|204001)\b/g, '…'],
      [/^npm run smoke/gm, `npm --prefix "${ROOT}" run --silent smoke`],
      ...instead,
    ],
  }
}

/** What a new user follows is carried out in every `npm test`, and half of the other guides, which change with the seed. */
const ALWAYS: readonly string[] = ['SECURITY.md', 'docs/demo.md', 'docs/API.md']

function carriedOut(documents: readonly string[]): readonly string[] {
  const others = documents.filter((file) => !ALWAYS.includes(file))
  const some = someOf(others, Math.ceil(others.length / 2), (file) => file)
  return documents.filter((file) => ALWAYS.includes(file) || some.includes(file))
}

describe('beside the demo', { timeout: 240_000 }, () => {
  let marts: TestDatabase

  /** Filled once; every document gets a copy. */
  beforeAll(async () => {
    marts = await aDatabase({ cinema: true })
    const folder = await mkdtemp(join(tmpdir(), 'vitrina-marts-'))
    const env = { DATABASE_URL: marts.url, VITRINA_PORT: '0' }
    const demo = spawnVitrina(['demo'], env, { cwd: folder })
    await demo.waitForOutput(/Ctrl-C/, 120_000)
    demo.kill('SIGINT')
    await demo.exited
    await rm(folder, { recursive: true, force: true })
  })

  async function aDemo(): Promise<Stage> {
    const stage = await aStageOn(await aDatabase({ like: marts }))
    const [receiver] = await freePorts(1)
    return {
      ...stage,
      env: {
        ...stage.env,
        VITRINA_PYTHON_TASKS: `pipelines/python,${join(ROOT, 'examples/cinema/python')}`,
      },
      instead: [
        [/^(.*)npm run demo$/gm, '$1npx vitrina up'],
        [/\b9099\b/g, String(receiver)],
        ...stage.instead,
      ],
    }
  }

  it.each(carriedOut(DOCUMENTS.marts))('R7.7 %s works exactly as written', async (file) => {
    await readThrough(file, await aDemo())
  })

  it.each(carriedOut(DOCUMENTS.demo))('R7.7 %s works exactly as written', async (file) => {
    const stage = file === 'docs/demo.md' ? asPresented(await aDemo()) : await aDemo()
    const server = spawnVitrina(['up'], stage.env, { cwd: stage.folder })
    await server.waitForOutput(/Ctrl-C/)
    await readThrough(file, stage)
  })
})

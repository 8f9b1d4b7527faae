import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aDatabase } from '../support/database.js'
import { ROOT } from '../support/document.js'
import { aFolder } from '../support/folders.js'
import { freePorts } from '../support/ports.js'
import { readThrough } from '../support/reader.js'

it.each(['docs/guides/first-mart.md', 'docs/guides/first-mart.ru.md'])(
  'R7.7 %s works to the letter',
  async (file) => {
    const database = await aDatabase({ migrated: false })
    const [port] = await freePorts(1)
    await readThrough('docs/guides/first-mart.md', {
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
      ],
    })
  },
)

it('R7.7 the Russian guide has the commands of the English one', async () => {
  const commands = async (file: string) =>
    [...(await readFile(join(ROOT, file), 'utf8')).matchAll(/^```\w+\n[\s\S]*?^```$/gm)].map(
      ([block]) => block,
    )
  expect(await commands('docs/guides/first-mart.ru.md')).toEqual(await commands('docs/guides/first-mart.md'))
})

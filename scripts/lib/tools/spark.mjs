import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { failure } from '../run.mjs'
import { cacheFolder, makeFolder } from './cache.mjs'
import { findJava } from './java.mjs'
import { must } from './must.mjs'

/** Spark with its own Python, and the driver that parts are executed with. */
const PACKAGES = ['pyspark==4.3.0', 'psycopg[binary]==3.3.8']
const folder = () => join(cacheFolder(), `spark-${PACKAGES.join('-').replace(/[^\w.]+/g, '-')}`)

/**
 * Installed once for all checkouts on this machine. Returns its Python and its home, or throws an error that explains
 * what is missing.
 */
export async function ensureSpark() {
  const java = await findJava()
  if (java === null)
    throw failure(
      'Java 17 or newer was not found, and Spark needs it.',
      'Install a JDK, for example the package openjdk-17-jre-headless, so that "java" is in PATH.',
    )
  await makeFolder(folder(), install).catch(({ message }) => {
    throw failure(
      `Spark cannot be installed: ${message}`,
      'Check that this machine reaches the Python package index, and has Python 3.10 or newer with its module venv.',
    )
  })
  return { python: join(folder(), 'bin/python'), home: homeOf(folder()), javaHome: java.home }
}

async function install(work) {
  await must(process.env.VITRINA_PYTHON || 'python3', ['-m', 'venv', work])
  await must(join(work, 'bin/python'), ['-m', 'pip', 'install', '--quiet', '--no-input', ...PACKAGES])
  return work
}

function homeOf(venv) {
  const lib = join(venv, 'lib')
  const found = readdirSync(lib).map((version) => join(lib, version, 'site-packages/pyspark'))
  return found.find((home) => existsSync(join(home, 'bin/spark-submit')))
}

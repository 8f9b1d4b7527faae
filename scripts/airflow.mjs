import { createHash } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import { endAll } from './lib/end-all.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { failure, main, ROOT, runQuietly, say, seconds } from './lib/run.mjs'
import { runTests } from './lib/vitest.mjs'

const REQUIREMENTS = join(ROOT, 'python/airflow-provider-vitrina/tests/requirements.txt')

const PYTHON_HINT = 'Install Python 3.10 or newer with its module venv, or name one in VITRINA_PYTHON.'
const INDEX_HINT = 'See whether this machine reaches the Python package index, and has Python 3.10 or newer.'

/** Drives a real Airflow, with the provider and the example DAGs, against a real Vitrina. */
endWithNpm()
await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  const python = await ensureAirflow()
  const home = mkdtempSync(join(tmpdir(), 'vitrina-airflow-'))
  // The runner's Python tasks, which look for files in it, may be another account.
  chmodSync(home, 0o755)
  const env = { ...process.env, VITRINA_TEST_AIRFLOW: python, VITRINA_TEST_AIRFLOW_HOME: home }
  try {
    return await runTests(['tests/airflow', ...process.argv.slice(2)], { env })
  } finally {
    endAll(`VITRINA_TEST_AIRFLOW_HOME=${home}`)
    rmSync(home, { recursive: true, force: true })
  }
})

/** Installed once for all checkouts on this machine; answers its Python. */
async function ensureAirflow() {
  const wanted = readFileSync(REQUIREMENTS, 'utf8')
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'vitrina')
  const venv = join(cache, `airflow-${createHash('sha256').update(wanted).digest('hex').slice(0, 12)}`)
  const [python, stamp] = [join(venv, 'bin/python'), join(venv, '.vitrina-installed')]
  if (existsSync(stamp)) return python
  const since = performance.now()
  say(`• Installing Airflow into ${venv}`)
  rmSync(venv, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  await must(process.env.VITRINA_PYTHON || 'python3', ['-m', 'venv', venv], PYTHON_HINT)
  await must(python, ['-m', 'pip', 'install', '--quiet', '--no-input', versionOf('uv', wanted)], INDEX_HINT)
  await must(
    python,
    ['-m', 'uv', 'pip', 'install', '--quiet', '--python', python, '-r', REQUIREMENTS],
    INDEX_HINT,
  )
  writeFileSync(stamp, wanted)
  say(`  installed in ${seconds(since)}`)
  return python
}

/** As the requirements pin it. */
function versionOf(name, requirements) {
  return requirements.split('\n').find((line) => line.startsWith(`${name}==`))
}

async function must(file, args, hint) {
  const { code, output } = await runQuietly(file, args).catch(({ message }) => ({ code: 1, output: message }))
  if (code !== 0) throw failure(`Airflow cannot be had: ${file} ${args.join(' ')}\n${output.trimEnd()}`, hint)
}

import { existsSync } from 'node:fs'
import { inPath } from '../browser.mjs'
import { findPgBouncer } from '../pgbouncer.mjs'
import { runQuietly } from '../run.mjs'
import { findJava } from './java.mjs'
import { must } from './must.mjs'

const has = (...commands) => commands.every((command) => inPath(command) !== null)
const runs = (file, ...args) =>
  runQuietly(file, args).then(
    ({ code }) => code === 0,
    () => false,
  )

/** Programs that tests need and npm does not provide: the Debian package, and whether its files are installed. */
const PACKAGES = [
  [
    'chromium-headless-shell',
    async () => has('chromium-headless-shell') || Boolean(process.env.VITRINA_CHROMIUM),
  ],
  ['python3', async () => has('python3')],
  ['python3-venv', async () => runs('python3', '-c', 'import ensurepip, venv')],
  // The headless JDK of the release, so that a Debian newer than 12 has it too.
  ['default-jdk-headless', async () => (await findJava())?.hasCompiler === true],
  ['maven', async () => has('mvn')],
  ['curl', async () => has('curl')],
  ['openssl', async () => has('openssl')],
  ['bash', async () => has('bash')],
  ['zsh', async () => has('zsh')],
  ['fish', async () => has('fish')],
  ['systemd', async () => has('systemd-analyze')],
  ['bsdutils', async () => has('script')],
  ['pgbouncer', async () => 'path' in findPgBouncer()],
]

/** What to install where the release does not have the package. */
const SUBSTITUTES = { 'chromium-headless-shell': 'chromium' }

async function missingPackages() {
  const wanted = await Promise.all(PACKAGES.map(async ([name, isThere]) => ((await isThere()) ? [] : [name])))
  return wanted.flat()
}

/** Only where no password has to be typed. Elsewhere each test that lacks a program is skipped with the reason. */
function mayInstall() {
  return process.getuid?.() === 0 && has('apt-get') && existsSync('/etc/debian_version')
}

export const debian = {
  name: 'Debian packages',

  async find() {
    if (!mayInstall()) return {}
    const missing = await missingPackages()
    return missing.length === 0 ? {} : { missing: `not installed: ${missing.join(', ')}`, packages: missing }
  },

  async install() {
    const packages = await missingPackages()
    await apt('update')
    // One by one if installing them together fails: a package that this release lacks must not prevent the others.
    await apt('install', ...packages).catch(async () => {
      const failed = []
      for (const name of packages)
        await apt('install', name)
          .catch((error) => (name in SUBSTITUTES ? apt('install', SUBSTITUTES[name]) : Promise.reject(error)))
          .catch(() => failed.push(name))
      if (failed.length > 0) throw new Error(`apt-get install ${failed.join(' ')} failed`)
    })
  },
}

function apt(verb, ...packages) {
  const quiet = ['DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q', '-o', 'DPkg::Lock::Timeout=300', '-y']
  return must('env', [
    ...quiet,
    verb,
    ...(verb === 'install' ? ['--no-install-recommends'] : []),
    ...packages,
  ])
}

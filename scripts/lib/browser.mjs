import { spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']

/**
 * A Chromium of this machine, installed when we may. Answers `{ path }`, or `{ missing }` with the reason.
 * VITRINA_CHROMIUM names one that is elsewhere.
 */
export function findBrowser() {
  const given = process.env.VITRINA_CHROMIUM
  if (given) return { path: given }
  const path = inPath() ?? (install() ? inPath() : null)
  return path === null
    ? { missing: 'there is no Chromium; install one, or name one with VITRINA_CHROMIUM' }
    : { path }
}

/** As root the sandbox does not start, and in a container there is often no room in /dev/shm. */
export function launchOptions(path) {
  const asRoot = process.getuid?.() === 0
  return {
    executablePath: path,
    args: [...(asRoot ? ['--no-sandbox'] : []), '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  }
}

function inPath() {
  for (const folder of (process.env.PATH ?? '').split(delimiter))
    for (const name of NAMES) if (isExecutable(join(folder, name))) return join(folder, name)
  return null
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Only where nobody has to be asked for a password. */
function install() {
  if (process.getuid?.() !== 0) return false
  const apt = (...args) =>
    spawnSync('apt-get', args, {
      stdio: 'ignore',
      timeout: 240_000,
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    }).status === 0
  const want = ['install', '-y', '--no-install-recommends', 'chromium']
  return apt(...want) || (apt('update') && apt(...want))
}

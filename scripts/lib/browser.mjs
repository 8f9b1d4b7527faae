import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * The shell first: the same engine without the rest of a browser took 3.6 s of processor time where Chromium took 6.8 s
 * (six pages of the console, medians of five rounds).
 */
const NAMES = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
]

/** A Chromium of this machine: `{ path }`, or `{ missing }` with the reason. VITRINA_CHROMIUM names one elsewhere. */
export function findBrowser() {
  const given = process.env.VITRINA_CHROMIUM
  if (given) return { path: given }
  const path = inPath(...NAMES)
  return path === null
    ? { missing: 'Chromium is not installed; install it, or name one with VITRINA_CHROMIUM' }
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

/** The first of these programs that PATH or the folder of servers has, or null. */
export function inPath(...names) {
  for (const folder of [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin'])
    for (const name of names) if (isExecutable(join(folder, name))) return join(folder, name)
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

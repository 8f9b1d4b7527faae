import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findBinaries } from './binaries.js'
import { ensureRuntime } from './runtime.js'

let base: string

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'vitrina-runtime-'))
})
afterEach(async () => await rm(base, { recursive: true, force: true }))

/** A package whose install script did not run, unpacked by a tool that lost the modes. */
async function makePackage(links: string): Promise<string> {
  const native = join(base, 'native')
  for (const name of ['bin', 'lib']) await mkdir(join(native, name), { recursive: true })
  await writeFile(join(native, 'bin/postgres'), 'program', { mode: 0o644 })
  await writeFile(join(native, 'lib/libpq.so.5.18'), 'library', { mode: 0o644 })
  await writeFile(join(native, 'pg-symlinks.json'), links)
  return native
}

describe('the runtime', () => {
  it('has the links and file modes that the package lacks, and leaves the package unchanged', async () => {
    const links = [{ source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' }]
    const native = await makePackage(JSON.stringify(links))
    const runtime = await ensureRuntime(base, { native, version: '18.4.0', major: '18' })
    expect(await readFile(join(runtime, 'lib/libpq.so.5'), 'utf8')).toBe('library')
    expect((await stat(join(runtime, 'bin/postgres'))).mode & 0o777).toBe(0o755)
    expect((await stat(join(native, 'bin/postgres'))).mode & 0o777).toBe(0o644)
    await expect(lstat(join(native, 'lib/libpq.so.5'))).rejects.toThrow('ENOENT')
  })

  it('does not exist if it could not be completed', async () => {
    const native = await makePackage('[{ "sour')
    await expect(ensureRuntime(base, { native, version: '18.4.0', major: '18' })).rejects.toThrow('JSON')
    expect(await readdir(base)).toEqual(['native'])
  })

  it('is rejected on a platform without binaries, with the alternative', () => {
    expect(() => findBinaries('plan9-vax')).toThrow(
      expect.objectContaining({ code: 'EMBEDDED_FAILED', hint: expect.stringContaining('DATABASE_URL') }),
    )
  })
})

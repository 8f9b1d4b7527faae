import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aFolder } from '../support/folders.js'
import { spawnProgram } from '../support/processes.js'

const LIB = new URL('../../scripts/lib/', import.meta.url).href

/** Runs code with the functions of scripts/lib in a process with this cache folder; returns its standard output. */
async function withCache(folder: string, code: string, env: Record<string, string> = {}): Promise<string> {
  const script = `
    const { findTool } = await import('${LIB}test-tools.mjs')
    const { makeFolder } = await import('${LIB}tools/cache.mjs')
    ${code}`
  const args = [process.execPath, '--input-type=module', '-e', script]
  const program = spawnProgram(args, { VITRINA_TEST_CACHE: folder, ...env })
  expect(await program.exited, program.stderr).toBe(0)
  return program.stdout
}

describe('the tools of the tests', () => {
  const LOOK = "console.log((await findTool('python')).missing)"

  it('are only looked up by tests, and a missing one names the command that installs it', async () => {
    const folder = await aFolder()
    const missing = await withCache(folder, LOOK)
    expect(missing).toMatch(/^SeaweedFS and DuckDB: .+ does not exist \("npm run test:tools" installs it\)/)
    expect(await readdir(folder)).toEqual([])
  })

  it('report why they could not be installed', async () => {
    const env = { VITRINA_TEST_TOOL_FAILURES: JSON.stringify({ python: 'python3 failed: no network' }) }
    const missing = await withCache(await aFolder(), LOOK, env)
    expect(missing).toContain('it could not be installed: python3 failed: no network')
  })

  it('are installed completely or not at all', async () => {
    const folder = await aFolder()
    const tool = join(folder, 'tool')
    const fill = (then: string) =>
      `await makeFolder(${JSON.stringify(tool)}, async (work) => {
        await (await import('node:fs/promises')).writeFile(work + '/half', '')
        ${then}
        return work
      })`
    await withCache(folder, `${fill("throw new Error('no network')")}.catch(() => {})`)
    expect(await readdir(folder)).toEqual([])
    await withCache(folder, fill(''))
    expect(await readdir(folder)).toEqual(['tool'])
    expect(await readdir(tool)).toEqual(['half'])
  })

  it('leave no partial installation when killed', async () => {
    const folder = await aFolder()
    const killed = spawnProgram([process.execPath, '-e', ''], {})
    await killed.exited
    for (const pid of [killed.pid, process.pid]) {
      await mkdir(join(folder, `installing-${pid}-abc`))
      await writeFile(join(folder, `installing-${pid}-abc`, 'half'), '')
    }
    await withCache(folder, `await makeFolder(${JSON.stringify(join(folder, 'tool'))}, async (work) => work)`)
    expect((await readdir(folder)).sort()).toEqual([`installing-${process.pid}-abc`, 'tool'])
  })
})

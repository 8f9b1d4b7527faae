import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFolder } from './files.js'

describe('a folder', () => {
  let home: string
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'vitrina-files-'))
  })
  afterAll(() => rm(home, { recursive: true }))

  it('is created with those above it, by several processes at once', async () => {
    const path = join(home, 'a/b/c')
    const created = await Promise.all([1, 2, 3].map(() => createFolder(path)))
    expect(created.filter(Boolean)).toHaveLength(1)
    expect((await stat(path)).isDirectory()).toBe(true)
    expect(await createFolder(path)).toBe(false)
  })

  it('is refused below a file', async () => {
    const file = join(home, 'file')
    await writeFile(file, '')
    await expect(createFolder(file)).rejects.toMatchObject({ code: 'EEXIST' })
    await expect(createFolder(join(file, 'below'))).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it('is refused at once where none can be created', async (context) => {
    if (process.platform !== 'linux') context.skip('only Linux has /proc')
    await expect(createFolder('/proc/nowhere/below')).rejects.toMatchObject({ code: 'ENOENT' })
  })
})

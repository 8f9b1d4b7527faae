import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { takeOwnership } from './owner.js'

let base: string

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'vitrina-owner-'))
})
afterEach(async () => await rm(base, { recursive: true, force: true }))

describe('ownership', () => {
  it('is taken by one of twenty concurrent processes after an owner whose process id was reused', async () => {
    const dead = { pid: process.pid, identity: 'of an earlier process', url: null }
    await writeFile(join(base, 'owner.7.json'), JSON.stringify(dead))
    const asked = await Promise.allSettled(Array.from({ length: 20 }, async () => await takeOwnership(base)))
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await readdir(base)).toEqual(['owner.8.json'])
  })

  it('can be taken again after it was released', async () => {
    for (let round = 0; round < 3; round += 1) await (await takeOwnership(base)).release()
    expect(await readdir(base)).toEqual(['owner.3.json'])
  })
})

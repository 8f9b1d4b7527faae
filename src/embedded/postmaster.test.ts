import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { stopPostmaster } from './postmaster.js'

let dataDir: string
let pidFile: string

/** Names this process: it is alive and is not a postmaster. */
const FILE_OF_ANOTHER = `${process.pid}\n/data\n1\n5432\n`

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'vitrina-postmaster-'))
  pidFile = join(dataDir, 'postmaster.pid')
})

afterEach(async () => await rm(dataDir, { recursive: true, force: true }))

describe('stopPostmaster', () => {
  it('does not signal a process that reuses the id of an earlier server', async () => {
    await writeFile(pidFile, FILE_OF_ANOTHER)
    expect(await stopPostmaster(dataDir)).toBe(false)
    const [pid, ...rest] = (await readFile(pidFile, 'utf8')).split('\n')
    expect(Number(pid)).not.toBe(process.pid)
    expect(rest).toEqual(['/data', '1', '5432', ''])
  })

  it('accepts that an exiting server removes its file at any moment', async () => {
    for (let round = 0; round < 300; round++) {
      await writeFile(pidFile, FILE_OF_ANOTHER)
      // The removal is delayed by a few turns of the event loop, each round by another number.
      const removal = afterTurns(round % 15).then(async () => await rm(pidFile))
      expect(await stopPostmaster(dataDir)).toBe(false)
      await removal
      await expect(readFile(pidFile)).rejects.toThrow('ENOENT')
    }
  })
})

async function afterTurns(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonl } from '../../../examples/sinks/jsonl/index.js'
import { type SeenRow, sinkSuite } from './suite.js'

sinkSuite({
  name: 'JSON lines, the example of the guide',
  inProcesses: false,
  start: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'vitrina-jsonl-'))
    return {
      env: { JSONL_FOLDER: folder },
      sinks: [jsonl],
      target: (name) => `jsonl:${name}`,
      read: async (_database, name) => {
        const text = await readFile(join(folder, `${name}.jsonl`), 'utf8').catch(() => null)
        if (text === null) return null
        return text
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line) as SeenRow)
          .map(({ id, title, n }) => ({ id, title, n }))
      },
      close: () => rm(folder, { recursive: true, force: true }),
    }
  },
})

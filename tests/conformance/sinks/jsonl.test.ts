import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { jsonl } from '../../../examples/sinks/jsonl/index.js'
import type { SeenRow } from '../../support/sink-servers.js'
import { sinkSuite } from './suite.js'

sinkSuite({
  name: 'JSON lines, the example of the guide',
  place: 4,
  // A runner in a process of its own has only the sinks of the product.
  crashes: [],
  isParted: false,
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
      tamper: async (_database, name) => {
        const path = join(folder, `${name}.jsonl`)
        const rows = (await readFile(path, 'utf8'))
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
        const changed = [
          ...rows
            .filter((row) => row.id !== '1')
            .map((row) => (row.id === '2' ? { ...row, title: 'wrong' } : row)),
          { ...rows[5], id: '9999' },
        ]
        await writeFile(path, changed.map((row) => `${JSON.stringify(row)}\n`).join(''))
      },
      close: () => rm(folder, { recursive: true, force: true }),
    }
  },
})

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

it('shows the example as it stands in its folder: what the guide says is what the suite runs', async () => {
  const guide = await readFile(join(ROOT, 'docs/guides/new-sink.md'), 'utf8')
  const shown = [...guide.matchAll(/<!-- file: (\S+) -->\n```ts\n([\s\S]*?)```/g)]
  expect(shown.map(([, file]) => file)).toEqual([
    'examples/sinks/jsonl/config.ts',
    'examples/sinks/jsonl/index.ts',
    'examples/sinks/jsonl/sink.ts',
  ])
  for (const [, file, code] of shown) expect(code).toBe(await readFile(join(ROOT, file!), 'utf8'))
})

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import type { TransformChain, TransformHosts } from '../../src/ports/transforms.js'
import type { TextValues } from '../../src/sql/copy-text.js'
import { RowBatch } from '../../src/sql/row-batch.js'
import type { Column } from '../../src/sql/selection.js'
import { createTransforms } from '../../src/transforms/index.js'
import { aFolder } from './folders.js'

export interface TestTasks {
  /** The folder with `python` and `typescript` in it. */
  readonly folder: string
  readonly hosts: TransformHosts
  /** Adds or replaces a file: `python/film.py`. */
  write(file: string, text: string): Promise<void>
  /** What was printed so far, as `transform: line`. */
  readonly output: readonly string[]
  open(
    names: string | readonly string[],
    columns: readonly Column[],
    signal?: AbortSignal,
  ): Promise<TransformChain>
  /** Opens, sends one batch through, closes. */
  run(
    names: string | readonly string[],
    columns: readonly Column[],
    rows: readonly TextValues[],
  ): Promise<readonly TextValues[]>
}

/** Real files, real interpreters; everything is closed when the test ends. */
export async function someTasks(
  files: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Promise<TestTasks> {
  const folder = await aFolder()
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), text)
  }
  for (const [file, text] of Object.entries(files)) await write(file, text)
  const hosts = createTransforms(readSettings({ ...taskSettings(folder), ...env }))
  onTestFinished(() => hosts.close())
  const output: string[] = []
  const open: TestTasks['open'] = (names, columns, signal = new AbortController().signal) =>
    hosts.open([names].flat(), columns, {
      signal,
      onOutput: ({ transform, text }) => void output.push(`${transform}: ${text}`),
    })
  return {
    folder,
    hosts,
    write,
    output,
    open,
    run: async (names, columns, rows) => {
      const chain = await open(names, columns)
      try {
        return (await chain.run(RowBatch.ofRows(rows))).rows
      } finally {
        await chain.close()
      }
    },
  }
}

export function taskSettings(folder: string): Record<string, string> {
  return {
    VITRINA_PYTHON_TASKS: join(folder, 'python'),
    VITRINA_TYPESCRIPT_TASKS: join(folder, 'typescript'),
    VITRINA_TASK_TIMEOUT_SECONDS: '30',
  }
}

/** `columnsOf('id bigint', 'title text')` */
export function columnsOfTexts(...texts: readonly string[]): Column[] {
  return texts.map((text) => {
    const space = text.indexOf(' ')
    return { name: text.slice(0, space), type: text.slice(space + 1), typeOid: 0, base: null, notNull: false }
  })
}

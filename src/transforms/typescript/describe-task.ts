import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LoadedTask } from '../host.js'
import type { RegisteredTask } from './task.js'

/** Where a task is defined, and the comment above it. */
export async function describeTask(
  { name, run, adds, drops, stack }: RegisteredTask,
  folder: string,
  loading: string,
): Promise<LoadedTask> {
  const place = stackPlace(stack, folder)
  const file = place?.file ?? loading
  const line = place?.line ?? 1
  const source = await readFile(`${folder}/${file}`, 'utf8').catch(() => '')
  const doc = commentAbove(source.split('\n').slice(0, line - 1))
  return { name, adds, drops, file, line, signature: signatureOf(name, run), doc }
}

/** The first stack line in this folder; mapped stacks contain paths, others URLs. */
export function stackPlace(stack: string, folder: string): { file: string; line: number } | null {
  for (const text of stack.split('\n')) {
    const end = /:(\d+):\d+\)?$/.exec(text)
    const from = text.indexOf('file:///')
    const address = text.slice(from < 0 ? text.indexOf('/') : from, end?.index)
    if (end === null || !text.includes('/')) continue
    const line = end[1]
    const path = address.startsWith('file:') ? fileURLToPath(address) : address
    const file = relative(folder, path)
    if (!file.startsWith('..')) return { file: file.replaceAll('\\', '/'), line: Number(line) }
  }
  return null
}

/** `clean_titles(rows)`: types have been removed at run time. */
function signatureOf(name: string, run: (...args: never[]) => unknown): string {
  const text = run.toString().replace(/\s+/g, ' ')
  const parameters = /^(?:async ?)?(?:function ?\*? ?[\w$]* ?)?\*? ?(\([^)]*\)|[\w$]+ ?=>)/.exec(text)?.[1]
  const bare = (parameters ?? '(…)').replace(/ ?=>$/, '').replace(/ (?=[,)=])|(?<=\() /g, '')
  return `${name}${bare.startsWith('(') ? bare : `(${bare})`}`.slice(0, 500)
}

/** The comment that ends on the previous line. */
function commentAbove(lines: readonly string[]): string {
  const text = lines.join('\n').trimEnd()
  const block = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/$/.exec(text)?.[1]
  if (block === undefined) return ''
  const words = block.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  return words.join('\n').trim().slice(0, 4_000)
}

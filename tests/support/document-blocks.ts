import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A fenced block of a document. */
export interface Block {
  readonly language: string
  readonly text: string
  /** The line of the document on which it begins. */
  readonly line: number
  /** The expected output, shown directly below it. */
  readonly answer: string | null
  /** Why a test cannot execute it although a reader can: `<!-- not run: needs a browser -->` precedes it. */
  readonly notRun: string | null
  /**
   * The file of the repository it shows: `<!-- file: path -->` for a whole file, `<!-- part of: path -->` for some
   * lines.
   */
  readonly source: { readonly path: string; readonly isWhole: boolean } | null
}

export const ROOT = join(import.meta.dirname, '..', '..')

const FENCE = /^```(\w+)\s*$/
const NOT_RUN = /^<!-- not run: (.+) -->$/
const SOURCE = /^<!-- (file|part of): (\S+) -->$/
const ANSWERS = new Set(['text', 'json'])
const A_BLOCK = 'a block'

/** The blocks of a document with a language, in their order, each with the output shown directly below it. */
export function blocksOf(file: string): Block[] {
  const blocks: Block[] = []
  const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
  let above = ''
  for (let at = 0; at < lines.length; at++) {
    const language = FENCE.exec(lines[at]!)?.[1]
    if (language === undefined) {
      above = lines[at] || above
      continue
    }
    const end = lines.indexOf('```', at)
    const text = lines.slice(at + 1, end).join('\n')
    if (ANSWERS.has(language) && above === A_BLOCK) blocks.push({ ...blocks.pop()!, answer: text })
    else blocks.push({ language, text, line: at + 1, answer: null, ...marksIn(above) })
    above = ANSWERS.has(language) ? '' : A_BLOCK
    at = end
  }
  return blocks
}

function marksIn(above: string): Pick<Block, 'notRun' | 'source'> {
  const [, kind, path] = SOURCE.exec(above) ?? []
  return {
    notRun: NOT_RUN.exec(above)?.[1] ?? null,
    source: path === undefined ? null : { path, isWhole: kind === 'file' },
  }
}

/** The output that a document shows for a command that is executed elsewhere. */
export function answerTo(file: string, command: string): string {
  const block = blocksOf(file).find(({ text }) => text === command)
  if (!block?.answer) throw new Error(`${file} shows no output of "${command}".`)
  return block.answer
}

/** What differs each time: times, ids, addresses, durations, tokens, names of runners. */
const PASSING: readonly [RegExp, string][] = [
  [/\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d)?/g, '<moment>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<id>'],
  [/\b(127\.0\.0\.1|localhost):\d+/g, '<address>'],
  [/\b\d+(\.\d+)? ?(ms|s)\b/g, '<duration>'],
  [/"duration_ms": ?\d+/g, '"duration_ms":0'],
  [/"(seq|id)": ?\d+/g, '"$1":0'],
  [/vtr_[\w-]+/g, 'vtr_…'],
  [/[\w.-]+-\d+-\d{3,}\b/g, '<runner>'],
]

/** Whether an output matches the document. `…` in the document matches anything. */
export function shows(shown: string, output: string): boolean {
  return pattern(shown).test(plain(output))
}

function pattern(shown: string): RegExp {
  const parts = plain(shown).split('…')
  return new RegExp(parts.map((part) => escaped(part)).join('[\\s\\S]*'))
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/** Without layout: blanks, rules of tables, counts of rows. */
function plain(text: string): string {
  let masked = text
  for (const [passing, name] of PASSING) masked = masked.replace(passing, name)
  return masked
    .split('\n')
    .map((line) => line.replace(/\s+/g, '').trim())
    .filter((line) => !/^[-+─]*$/.test(line) && !/^\(\d+rows?\)$/.test(line))
    .join('')
}

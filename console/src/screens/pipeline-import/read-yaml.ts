import { isMap, LineCounter, parseAllDocuments } from 'yaml'

export interface WrittenPipeline {
  readonly name: string
  /** Only the fields in the text, under the names of the API. */
  readonly fields: Readonly<Record<string, unknown>>
}

export type Mistake =
  | { readonly kind: 'syntax'; readonly line: number; readonly what: string }
  | {
      readonly kind: 'shape' | 'nameless' | 'elsewhere' | 'rules'
      readonly line: number
      readonly what: string
    }

export interface WrittenPipelines {
  readonly pipelines: readonly WrittenPipeline[]
  readonly mistakes: readonly Mistake[]
}

/** Fields that refer to other files, which only the command can read. */
const REFERENCE = /\$\{(env|file):/

/** Several documents, a list under `pipelines:`, or one pipeline. Reports all mistakes together. */
export function readYaml(text: string): WrittenPipelines {
  try {
    return readDocuments(text)
  } catch (error) {
    // Unbounded aliases or nesting: the parser throws its own error.
    return { pipelines: [], mistakes: [{ kind: 'syntax', line: 1, what: (error as Error).message }] }
  }
}

function readDocuments(text: string): WrittenPipelines {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, merge: true })
  const pipelines: WrittenPipeline[] = []
  const mistakes: Mistake[] = []
  for (const document of Array.isArray(documents) ? documents : []) {
    const [error] = document.errors
    const lineOf = (offset: number | undefined) => lines.linePos(offset ?? 0).line
    const line = lineOf(document.contents?.range?.[0])
    if (error !== undefined) {
      mistakes.push({ kind: 'syntax', line: lineOf(error.pos[0]), what: error.message.split('\n')[0] ?? '' })
      continue
    }
    const content: unknown = document.toJS()
    if (content === null || content === undefined) continue
    if (!isMap(document.contents)) mistakes.push({ kind: 'shape', line, what: '' })
    else if ('notifications' in (content as Entry)) mistakes.push({ kind: 'rules', line, what: '' })
    else
      for (const entry of entriesOf(content as Entry)) {
        const mistake = mistakeIn(entry)
        if (mistake === null) pipelines.push(toPipeline(entry))
        else mistakes.push({ ...mistake, line })
      }
  }
  return { pipelines, mistakes }
}

type Entry = Readonly<Record<string, unknown>>

function entriesOf(content: Entry): readonly Entry[] {
  return Array.isArray(content.pipelines) ? (content.pipelines as Entry[]) : [content]
}

function mistakeIn(entry: Entry): { kind: 'shape' | 'nameless' | 'elsewhere'; what: string } | null {
  if (typeof entry !== 'object' || entry === null) return { kind: 'shape', what: '' }
  if (typeof entry.name !== 'string' || entry.name === '') return { kind: 'nameless', what: '' }
  if ('source_query_file' in entry) return { kind: 'elsewhere', what: 'source_query_file' }
  const reference = Object.keys(entry).find((field) => REFERENCE.test(JSON.stringify(entry[field]) ?? ''))
  return reference === undefined ? null : { kind: 'elsewhere', what: reference }
}

function toPipeline({ apiVersion: _, ...fields }: Entry): WrittenPipeline {
  return { name: fields.name as string, fields }
}

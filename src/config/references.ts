import { readFile } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import { isMapping, type JsonSchema } from './json-schema.js'

type Path = readonly (string | number)[]

/** Something in a value that cannot be taken over, by the path of the value. */
export interface ReferenceMistake {
  readonly path: Path
  readonly message: string
}

export interface Resolved {
  readonly value: unknown
  readonly mistakes: readonly ReferenceMistake[]
}

/** `${env:NAME}` and `${file:path}`; `$${…}` stands for the text itself. */
const REFERENCE = /\$?\$\{(env|file):([^}]{0,1000})\}/g

/** Text that only looks like a reference, written so that it is read as it is. */
export function escapeReferences(text: string): string {
  return text.replace(/\$\{(env|file):[^}]{0,1000}\}/g, (whole) => `$${whole}`)
}

/** Puts in what a file refers to, before anything is checked. Files are looked for beside `file`. */
export async function resolveReferences(
  value: unknown,
  schema: JsonSchema,
  file: string,
  path: Path = [],
): Promise<Resolved> {
  if (typeof value === 'string') return resolveText(value, schema, file, path)
  if (!Array.isArray(value) && !isMapping(value)) return { value, mistakes: [] }
  const parts = await Promise.all(
    Object.entries(value).map(async ([key, item]) => {
      const step = Array.isArray(value) ? Number(key) : key
      const inner = Array.isArray(value) ? schema.items : schema.properties?.[key]
      return [step, await resolveReferences(item, inner ?? {}, file, [...path, step])] as const
    }),
  )
  const mistakes = parts.flatMap(([, { mistakes: found }]) => found)
  if (Array.isArray(value)) return { value: parts.map(([, { value: item }]) => item), mistakes }
  return { value: Object.fromEntries(parts.map(([key, { value: item }]) => [key, item])), mistakes }
}

async function resolveText(text: string, schema: JsonSchema, file: string, path: Path): Promise<Resolved> {
  const mistakes: ReferenceMistake[] = []
  const found = await Promise.all(
    [...text.matchAll(REFERENCE)].map(async ([whole, kind, name = '']) => {
      if (whole.startsWith('$$')) return whole.slice(1)
      const answer = kind === 'env' ? fromEnvironment(name) : await fromFile(name, file)
      if (answer.text === undefined) mistakes.push({ path, message: answer.message })
      return answer.text ?? ''
    }),
  )
  if (found.length === 0 || mistakes.length > 0) return { value: text, mistakes }
  const resolved = text.replace(REFERENCE, () => found.shift() ?? '')
  return { value: readAs(resolved, schema), mistakes }
}

type Answer = { text: string; message?: undefined } | { text?: undefined; message: string }

function fromEnvironment(name: string): Answer {
  const text = process.env[name]
  return text === undefined || text === ''
    ? { message: `the environment variable ${name} is not set` }
    : { text }
}

async function fromFile(name: string, file: string): Promise<Answer> {
  try {
    // Editors end a file with a line break that nobody means.
    return { text: (await readFile(isAbsolute(name) ? name : join(dirname(file), name), 'utf8')).trimEnd() }
  } catch (error) {
    return { message: `the file ${name} cannot be read: ${(error as Error).message}` }
  }
}

/** A reference is text; where a number or a switch belongs, it is read as one. */
function readAs(text: string, { type, anyOf = [] }: JsonSchema): unknown {
  const types = [type, ...anyOf.map((branch) => branch.type)]
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if ((types.includes('integer') || types.includes('number')) && /^-?\d+(\.\d+)?$/.test(text))
    return Number(text)
  return text
}

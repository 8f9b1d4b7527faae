import { isMapping, type JsonSchema } from './json-schema.js'
import type { ReferenceAccess } from './reference-access.js'

type Path = readonly (string | number)[]

/** A part of a value that cannot be resolved, by the path of the value. */
export interface ReferenceMistake {
  readonly path: Path
  readonly message: string
}

export interface Resolved {
  readonly value: unknown
  readonly mistakes: readonly ReferenceMistake[]
}

/** `${env:NAME}` and `${file:path}`; `$${…}` is the literal text. */
const REFERENCE = /\$?\$\{(env|file):([^{}]*)\}/g

/** Escapes text that looks like a reference, so that it is read literally. */
export function escapeReferences(text: string): string {
  return text.replace(/\$\{(env|file):[^{}]*\}/g, (whole) => `$${whole}`)
}

/** Replaces the references in a value, before any validation. */
export function resolveReferences(
  value: unknown,
  schema: JsonSchema,
  access: ReferenceAccess,
): Promise<Resolved> {
  return resolveValue({ value, schema, path: [] }, access)
}

interface Part {
  readonly value: unknown
  readonly schema: JsonSchema
  readonly path: Path
}

async function resolveValue({ value, schema, path }: Part, access: ReferenceAccess): Promise<Resolved> {
  if (typeof value === 'string') return resolveText({ value, schema, path }, access)
  if (!Array.isArray(value) && !isMapping(value)) return { value, mistakes: [] }
  const parts = await Promise.all(
    Object.entries(value).map(async ([key, item]) => {
      const step = Array.isArray(value) ? Number(key) : key
      const inner = Array.isArray(value) ? schema.items : schema.properties?.[key]
      const part = { value: item, schema: inner ?? {}, path: [...path, step] }
      return [step, await resolveValue(part, access)] as const
    }),
  )
  const mistakes = parts.flatMap(([, { mistakes: found }]) => found)
  if (Array.isArray(value)) return { value: parts.map(([, { value: item }]) => item), mistakes }
  return { value: Object.fromEntries(parts.map(([key, { value: item }]) => [key, item])), mistakes }
}

async function resolveText(
  { value: text, schema, path }: Part & { readonly value: string },
  access: ReferenceAccess,
): Promise<Resolved> {
  const mistakes: ReferenceMistake[] = []
  const found = await Promise.all(
    [...text.matchAll(REFERENCE)].map(async ([whole, kind, name = '']) => {
      if (whole.startsWith('$$')) return whole.slice(1)
      const answer = kind === 'env' ? access.variable(name) : await access.file(name)
      if (answer.text === undefined)
        mistakes.push({
          path,
          message: kind === 'env' ? answer.message : `the file ${name} cannot be read: ${answer.message}`,
        })
      // Editors end a file with a line break that is not part of the value.
      return kind === 'env' ? (answer.text ?? '') : (answer.text ?? '').trimEnd()
    }),
  )
  if (found.length === 0 || mistakes.length > 0) return { value: text, mistakes }
  const resolved = text.replace(REFERENCE, () => found.shift() ?? '')
  return { value: readAs(resolved, schema), mistakes }
}

/** A reference is text; where a number or a boolean is expected, it is parsed as one. */
function readAs(text: string, { type, anyOf = [] }: JsonSchema): unknown {
  const types = [type, ...anyOf.map((branch) => branch.type)]
  if (types.includes('boolean') && /^(true|false)$/.test(text)) return text === 'true'
  if ((types.includes('integer') || types.includes('number')) && /^-?\d+(\.\d+)?$/.test(text))
    return Number(text)
  return text
}

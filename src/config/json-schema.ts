import { didYouMean } from './did-you-mean.js'

/** The subset of JSON Schema that our generated schemas use. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean
  readonly items?: JsonSchema
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
}

type Path = readonly (string | number)[]

export interface SchemaMistake {
  readonly path: Path
  readonly message: string
  /** About the name of a field, not about its value. */
  readonly isKey: boolean
}

/** All mistakes in a value. The server has more rules; these need no server. */
export function checkValue(schema: JsonSchema, value: unknown, path: Path = []): SchemaMistake[] {
  if (schema.anyOf !== undefined) return checkBranches(schema.anyOf, value, path)
  if (!isOfType(schema, value)) return [wrong(path, `must be ${describe(schema)}`)]
  if (schema.enum !== undefined) return checkChoice(schema.enum, value, path)
  if (Array.isArray(value)) return checkList(schema, value, path)
  if (isMapping(value)) return checkMapping(schema, value, path)
  return checkBounds(schema, value) ? [] : [wrong(path, `must be ${describe(schema)}`)]
}

function checkBranches(branches: readonly JsonSchema[], value: unknown, path: Path): SchemaMistake[] {
  const results = branches.map((branch) => checkValue(branch, value, path))
  if (results.some((mistakes) => mistakes.length === 0)) return []
  const fitting = results.filter(
    (_, n) => isOfType(branches[n] ?? {}, value) && branches[n]?.const === undefined,
  )
  const [only] = fitting
  if (fitting.length === 1 && only !== undefined && branches.every((branch) => branch.const === undefined))
    return only
  return [wrong(path, `must be ${branches.map(describe).join(', or ')}`)]
}

function checkChoice(choices: readonly unknown[], value: unknown, path: Path): SchemaMistake[] {
  if (choices.includes(value)) return []
  const meant = typeof value === 'string' ? didYouMean(value, choices.map(String)) : ''
  return [wrong(path, `must be ${describe({ enum: choices })}.${meant}`)]
}

function checkList(schema: JsonSchema, list: readonly unknown[], path: Path): SchemaMistake[] {
  const tooLong = schema.maxItems !== undefined && list.length > schema.maxItems
  const items = list.flatMap((item, n) => (schema.items ? checkValue(schema.items, item, [...path, n]) : []))
  return tooLong ? [wrong(path, `must have at most ${schema.maxItems} entries`), ...items] : items
}

/** Each is compared with all known names. */
const MOST_UNKNOWN = 100

function checkMapping(schema: JsonSchema, mapping: Record<string, unknown>, path: Path): SchemaMistake[] {
  const known = schema.properties ?? {}
  const names = Object.keys(known)
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(mapping, name))
  let unknown = 0
  const fields = Object.entries(mapping).flatMap(([name, value]) => {
    const field = Object.hasOwn(known, name) ? known[name] : undefined
    if (field !== undefined) return checkValue(field, value, [...path, name])
    unknown += 1
    if (unknown > MOST_UNKNOWN) return []
    const message = `unknown field "${name}".${didYouMean(name, names)}`
    return schema.additionalProperties === false ? [{ path: [...path, name], message, isKey: true }] : []
  })
  return [...missing.map((name) => ({ path, message: `"${name}" is missing`, isKey: true })), ...fields]
}

function checkBounds(schema: JsonSchema, value: unknown): boolean {
  if (typeof value === 'number')
    return value >= (schema.minimum ?? -Infinity) && value <= (schema.maximum ?? Infinity)
  if (typeof value === 'string')
    return value.length >= (schema.minLength ?? 0) && value.length <= (schema.maxLength ?? Infinity)
  return true
}

function isOfType(schema: JsonSchema, value: unknown): boolean {
  if (schema.const !== undefined) return value === schema.const
  if (schema.type === undefined) return true
  if (schema.type === 'null') return value === null
  if (schema.type === 'array') return Array.isArray(value)
  if (schema.type === 'object') return isMapping(value)
  if (schema.type === 'integer') return Number.isInteger(value)
  return typeof value === schema.type
}

export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  null: 'null',
  integer: 'a whole number',
  number: 'a number',
}

function describe(schema: JsonSchema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map((choice) => JSON.stringify(choice)).join(' or ')
  const { minimum, maximum, minLength = 0, maxLength } = schema
  const kind = TYPES[schema.type ?? ''] ?? 'something else'
  if (schema.type === 'string' && minLength > 0)
    return `${kind} of ${minLength} to ${maxLength ?? 'any number of'} characters`
  return minimum === undefined || maximum === undefined ? kind : `${kind} from ${minimum} to ${maximum}`
}

function wrong(path: Path, message: string): SchemaMistake {
  return { path, message, isKey: false }
}

import type { Finding } from '../../model/validation.js'
import type { Column } from '../../sql/selection.js'
import { type BulkMode, fieldType } from './types.js'

/** A field as a mapping describes it. */
export interface Property {
  readonly type?: string
  readonly enabled?: boolean
  readonly properties?: Readonly<Record<string, Property>>
  readonly fields?: Readonly<Record<string, Property>>
}
export type Properties = Readonly<Record<string, Property>>

/** Field types that hold our values: exactly, or with less exact searches. */
const HOLDS: Readonly<
  Record<string, { readonly well: readonly string[]; readonly roughly: readonly string[] }>
> = {
  boolean: { well: ['boolean', 'keyword', 'text'], roughly: [] },
  short: {
    well: ['short', 'integer', 'long', 'double', 'float', 'keyword'],
    roughly: ['half_float', 'scaled_float', 'byte'],
  },
  integer: {
    well: ['integer', 'long', 'double', 'keyword'],
    roughly: ['float', 'half_float', 'scaled_float', 'short', 'byte', 'unsigned_long'],
  },
  long: {
    well: ['long', 'keyword'],
    roughly: ['double', 'float', 'half_float', 'scaled_float', 'integer', 'short', 'byte', 'unsigned_long'],
  },
  float: { well: ['float', 'double', 'keyword'], roughly: ['half_float', 'scaled_float'] },
  double: { well: ['double', 'keyword'], roughly: ['float', 'half_float', 'scaled_float'] },
  text: {
    well: ['text', 'keyword', 'match_only_text', 'wildcard', 'search_as_you_type', 'completion', 'ip'],
    roughly: [],
  },
  keyword: { well: ['keyword', 'text', 'match_only_text', 'wildcard', 'ip'], roughly: [] },
  date: { well: ['date', 'keyword'], roughly: ['date_nanos', 'text'] },
  binary: { well: ['binary'], roughly: ['keyword', 'text'] },
  object: { well: ['object', 'flattened', 'nested'], roughly: [] },
}

/** Names reserved by the server: a document with such a field is rejected. */
const RESERVED = new Set([
  '_id',
  '_index',
  '_source',
  '_routing',
  '_ignored',
  '_field_names',
  '_seq_no',
  '_version',
  '_type',
  '_tier',
  '_size',
  '_doc_count',
  '_nested_path',
  '_feature',
])

/** Columns whose names cannot be field names. */
export function nameFindings(columns: readonly Column[]): Finding[] {
  const names = columns.map(({ name }) => name)
  return names.flatMap((name) => {
    const problem = fieldNameProblem(name, names)
    return problem === null
      ? []
      : [finding('TARGET_VALUE', `Column "${name}" cannot be a field: ${problem}.`, 'Rename it with AS.')]
  })
}

function fieldNameProblem(name: string, all: readonly string[]): string | null {
  if (RESERVED.has(name)) return 'Elasticsearch reserves this name'
  if (name.split('.').some((part) => part.trim() === '')) return 'its name has an empty part between dots'
  const inner = all.find((other) => other.startsWith(`${name}.`))
  return inner === undefined ? null : `"${inner}" would be a field inside it`
}

/** Columns that are rounded, regardless of the index. */
export function lossFindings(columns: readonly Column[], mode: BulkMode): Finding[] {
  return columns.flatMap(({ name, type }) => {
    const { loss } = fieldType(type, mode)
    return loss === null
      ? []
      : [finding('VALUE_ROUNDED', `Column "${name}" is ${type}: ${loss.what}.`, loss.remedy)]
  })
}

export interface SchemaFindings {
  readonly errors: Finding[]
  readonly warnings: Finding[]
}

/** Checks whether the existing fields of an index accept the columns. Missing fields are added before the first row. */
export function schemaFindings(
  columns: readonly Column[],
  properties: Properties,
  mode: BulkMode,
): SchemaFindings {
  const errors: Finding[] = []
  const warnings: Finding[] = []
  for (const { name, type } of columns) {
    const property = findProperty(properties, name)
    if (property === null) continue
    const wanted = fieldType(type, mode).mapping.type
    const found = property.type ?? 'object'
    const { well, roughly } = HOLDS[wanted]!
    if (well.includes(found)) continue
    const sentence = `Column "${name}" is ${type}, which maps to "${wanted}" in Elasticsearch, but the field of the index is "${found}"`
    if (roughly.includes(found))
      warnings.push(
        finding(
          'TYPE_DIFFERS',
          `${sentence}: searches are less exact, and values that do not fit are rejected.`,
          HINT,
        ),
      )
    else errors.push(finding('TARGET_MISMATCH', `${sentence}.`, HINT))
  }
  return { errors, warnings }
}

const HINT =
  'The type of a field cannot be changed: cast the column in the query, rebuild the index with full_strategy replace, or delete the index.'

/** A dot in a name refers to a field of an object. */
export function findProperty(properties: Properties, name: string): Property | null {
  const [first = '', ...rest] = name.split('.')
  const property = properties[name] ?? properties[first]
  if (property === undefined || properties[name] !== undefined || rest.length === 0) return property ?? null
  return findProperty(property.properties ?? {}, rest.join('.'))
}

function finding(code: string, message: string, hint: string): Finding {
  return { code, message, hint, field: 'target_table', position: null }
}

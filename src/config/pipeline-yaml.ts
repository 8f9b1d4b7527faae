import { Document, isScalar, parse, Scalar, stringify, visit } from 'yaml'
import { reordersText } from '../model/text.js'
import type { JsonSchema } from './json-schema.js'
import { API_VERSION } from './pipeline-file.js'
import { escapeReferences } from './references.js'

type Fields = Readonly<Record<string, unknown>>

export const SCHEMA_FILE = 'pipeline.schema.json'

/** A pipeline as a file that produces the same pipeline again. Fields with default values are left out. */
export function toYaml(fields: Fields, schema: JsonSchema): string {
  return asFile(withoutDefaults(fields, schema))
}

/** The same for notification rules, in one file. */
export function rulesToYaml(rules: readonly Fields[], schema: JsonSchema): string {
  return asFile({ notifications: rules.map((rule) => withoutDefaults(rule, schema)) })
}

function asFile(content: Fields): string {
  const document = new Document({ apiVersion: API_VERSION, ...content })
  visit(document, {
    Scalar: (_, node) => {
      if (typeof node.value === 'string') node.value = escapeReferences(node.value)
      if (!isQuoted(node)) asBlock(node)
    },
  })
  return `# yaml-language-server: $schema=${SCHEMA_FILE}\n${document.toString({ lineWidth: 0 })}`
}

/** A value as YAML. Characters that reorder text are between double quotes, where they can be written as escapes. */
export function yamlText(value: unknown): string {
  const document = new Document(value)
  visit(document, { Scalar: (_, node) => void isQuoted(node) })
  return document.toString({ lineWidth: 0 })
}

/** Quotes a text that must not be written plainly. */
function isQuoted(node: Scalar): boolean {
  if (typeof node.value !== 'string' || !reordersText(node.value)) return false
  node.type = Scalar.QUOTE_DOUBLE
  return true
}

/** Only writable fields, in the order of the schema. */
function withoutDefaults(fields: Fields, schema: JsonSchema): Fields {
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    // null means the default, for the server and for a file.
    const value = fields[name] ?? property.default
    if (!Object.hasOwn(fields, name) || isSame(value, property.default)) return []
    return [[name, name === 'tasks' ? shortTasks(value, property.items ?? {}) : value] as const]
  })
  return Object.fromEntries(entries.filter(([name, value]) => name !== 'type' || value !== typeOf(fields)))
}

function shortTasks(tasks: unknown, schema: JsonSchema): unknown {
  return (tasks as Fields[]).map((task) => {
    const { id: _, ...rest } = task
    return Object.fromEntries(
      Object.entries(rest).filter(([name, value]) => !isSame(value, schema.properties?.[name]?.default)),
    )
  })
}

/** The type if none is given. */
export function typeOf({ tasks }: Fields): 'SQL' | 'PYTHON' {
  const isTransform = (task: Fields) => task.task_type === 'PYTHON'
  return Array.isArray(tasks) && tasks.some(isTransform) ? 'PYTHON' : 'SQL'
}

/** Multi-line text stays readable, unless a block cannot represent it exactly. */
function asBlock(node: Scalar): void {
  if (!isScalar(node) || typeof node.value !== 'string' || !node.value.includes('\n')) return
  const block = new Scalar(node.value)
  block.type = Scalar.BLOCK_LITERAL
  const holds = parse(stringify({ text: block }, { lineWidth: 0 })).text === node.value
  node.type = holds ? Scalar.BLOCK_LITERAL : Scalar.QUOTE_DOUBLE
}

export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

import { VitrinaError } from '../model/errors.js'
import type { TransformInfo } from '../ports/transforms.js'
import type { Column } from '../sql/selection.js'
import { valueType } from '../sql/value-types.js'
import { oidOf } from './declared-types.js'
import type { HostColumn } from './host.js'

type Declared = Pick<TransformInfo, 'name' | 'adds' | 'drops'>

/** The output columns of a transform: without those it drops, with those it adds at the end. */
export function columnsAfter(columns: readonly Column[], { name, adds, drops }: Declared): Column[] {
  const kept = columns.filter((column) => !drops.includes(column.name))
  const changed = kept.map((column) => (Object.hasOwn(adds, column.name) ? made(column.name, adds) : column))
  const known = new Set(kept.map((column) => column.name))
  const added = Object.keys(adds).filter((column) => !known.has(column))
  const after = [...changed, ...added.map((column) => made(column, adds))]
  if (after.length > 0) return after
  throw new VitrinaError(
    'TRANSFORM_RESULT',
    `Transform "${name}" drops every column.`,
    'Keep at least one column: a row of the mart needs a key.',
  )
}

function made(name: string, adds: Readonly<Record<string, string>>): Column {
  const type = adds[name]!
  return { name, type, typeOid: oidOf(type), base: null, notNull: false }
}

export function forHost(columns: readonly Column[]): HostColumn[] {
  return columns.map(({ name, type }) => ({ name, type: { ...valueType(type), name: type } }))
}

/** A dict has each name once, so a second column with the same name would be lost. */
export function requireDistinct(columns: readonly Column[]): void {
  const doubled = columns.find(({ name }, n) => columns.findIndex((one) => one.name === name) !== n)
  if (doubled === undefined) return
  throw new VitrinaError(
    'PIPELINE_INVALID',
    `The query returns two columns named "${doubled.name}", but transforms identify columns by name.`,
    'Rename one of them with AS.',
  )
}

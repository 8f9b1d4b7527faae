import type { Tree } from '../guard/index.js'
import { type FlattenedColumn, type FromRelation, opaqueColumn } from './alternative.js'
import { listOf, namesOf } from './tree.js'
import { Untraceable } from './untraceable.js'

/** What names can mean at a place: the relations of each query around it, innermost first. */
export type Levels = readonly (readonly FromRelation[])[]

/** What a ColumnRef of the server's text means. */
export function resolveColumn(reference: Tree, levels: Levels): FlattenedColumn {
  const names = namesOf(reference.fields)
  if (names.length < listOf(reference.fields).length) return opaqueColumn('*', 'it is a whole row')
  const name = names.at(-1) ?? ''
  const found = names.length === 1 ? unqualified(name, levels) : qualified(names.at(-2) ?? '', name, levels)
  if (found === null) throw new Untraceable(`The column ${names.join('.')} was not found.`)
  return found
}

function qualified(alias: string, name: string, levels: Levels): FlattenedColumn | null {
  for (const relations of levels) {
    const relation = relations.find((each) => each.alias === alias)
    if (relation !== undefined) return columnIn(relation, name)
  }
  return null
}

function unqualified(name: string, levels: Levels): FlattenedColumn | null {
  for (const relations of levels) {
    const found = visibleColumn(relations, name)
    if (found !== null) return found
  }
  return null
}

/** The column that a name without a table means among these relations. */
export function visibleColumn(relations: readonly FromRelation[], name: string): FlattenedColumn | null {
  const known = relations.find(
    ({ columns, hidden }) => !hidden.has(name) && columns.some((column) => column.name === name),
  )
  if (known !== undefined) return columnIn(known, name)
  const open = relations.find(({ isOpen }) => isOpen)
  return open === undefined ? null : columnIn(open, name)
}

function columnIn({ columns, isOpen }: FromRelation, name: string): FlattenedColumn | null {
  const found = columns.find((column) => column.name === name)
  if (found !== undefined) return found
  return isOpen ? opaqueColumn(name, 'it is the result of a function in FROM') : null
}

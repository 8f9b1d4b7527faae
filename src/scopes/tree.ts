import { namesOf, nodeOf, type Tree } from '../guard/index.js'

export { listOf, namesOf, nodeOf } from '../guard/index.js'

export function lastNameOf(list: unknown): string {
  return namesOf(list).at(-1) ?? ''
}

/** Calls `visit` for every wrapped node, outside in; what it returns false for is not entered. */
export function walk(value: unknown, visit: (kind: string, node: Tree) => boolean): void {
  if (Array.isArray(value)) {
    for (const each of value) walk(each, visit)
    return
  }
  if (value === null || typeof value !== 'object') return
  const { kind, node } = nodeOf(value)
  if (kind !== '' && !visit(kind, node)) return
  for (const each of Object.values(kind === '' ? value : node)) walk(each, visit)
}

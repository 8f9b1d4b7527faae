import { listOf, nodeOf, type Tree } from '../guard/index.js'

export { listOf, namesOf, nodeOf } from '../guard/index.js'

export function endsWithStar(list: unknown): boolean {
  return listOf(list).at(-1)?.A_Star !== undefined
}

/** Every wrapped node below, including those in fields that contain their node directly, but not their children. */
export function childrenOf(value: unknown): { kind: string; node: Tree }[] {
  if (Array.isArray(value)) return value.flatMap(wrapped)
  return value === null || typeof value !== 'object' ? [] : Object.values(value).flatMap(wrapped)
}

function wrapped(value: unknown): { kind: string; node: Tree }[] {
  const found = nodeOf(value)
  return found.kind === '' ? childrenOf(value) : [found]
}

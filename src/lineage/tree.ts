import type { Tree } from '../guard/index.js'

/** Splits `{Kind: {…}}`. Kinds begin with a capital, fields do not. */
export function nodeOf(value: unknown): { kind: string; node: Tree } | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
  const entries = Object.entries(value)
  const [kind, node] = entries[0] ?? ['', null]
  return entries.length === 1 && /^[A-Z]/.test(kind) ? { kind, node: (node ?? {}) as Tree } : null
}

export function listOf(value: unknown): readonly Tree[] {
  return Array.isArray(value) ? (value as Tree[]) : []
}

/** The strings of a list of names; `*` is recognized by its position. */
export function namesOf(list: unknown): string[] {
  return listOf(list).flatMap((each) =>
    each.String === undefined ? [] : [String((each.String as Tree).sval ?? '')],
  )
}

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
  return found === null ? childrenOf(value) : [found]
}

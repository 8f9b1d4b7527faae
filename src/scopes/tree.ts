import type { Tree } from '../guard/index.js'

/** `{Kind: {…}}` taken apart; kind is empty for what is not a wrapped node. */
export function nodeOf(value: unknown): { readonly kind: string; readonly node: Tree } {
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    const [[kind, node] = ['', {}], ...more] = Object.entries(value)
    if (more.length === 0 && /^[A-Z]/.test(kind)) return { kind, node: (node ?? {}) as Tree }
  }
  return { kind: '', node: {} }
}

export function listOf(value: unknown): readonly Tree[] {
  return Array.isArray(value) ? (value as Tree[]) : []
}

/** The strings of a list of names, `*` left out. */
export function namesOf(list: unknown): string[] {
  return listOf(list).flatMap((each) =>
    each.String === undefined ? [] : [String((each.String as Tree).sval ?? '')],
  )
}

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

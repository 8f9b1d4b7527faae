import type { Tree } from './parser.js'

/** `{Kind: {…}}` taken apart; kind is empty for a value that is not a wrapped node. Kinds begin with a capital, fields do not. */
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

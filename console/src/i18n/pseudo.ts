const ACCENTS: Readonly<Record<string, string>> = {
  a: 'á',
  e: 'é',
  i: 'í',
  o: 'ó',
  u: 'ú',
  A: 'Á',
  E: 'É',
  O: 'Ó',
}
const stretched = new WeakMap<object, object>()

/** Makes every text 40 % longer and marks both ends: a layout that truncates it is obvious. */
export function stretch<T extends object>(tree: T): T {
  const known = stretched.get(tree)
  if (known !== undefined) return known as T
  const made = Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, stretchValue(value)])) as T
  stretched.set(tree, made)
  return made
}

function stretchValue(value: unknown): unknown {
  if (typeof value === 'string') return longer(value)
  if (typeof value === 'function') return (...facts: unknown[]) => longer(String(value(...facts)))
  return typeof value === 'object' && value !== null ? stretch(value) : value
}

function longer(text: string): string {
  const accented = text.replace(/[aeiouAEO]/g, (letter) => ACCENTS[letter] ?? letter)
  return `[${accented}${'·'.repeat(Math.ceil(text.length * 0.4))}]`
}

/** A text of the address. Digits stay a text, whoever parsed them as a number; nothing and an empty text are no filter. */
export function searchText(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return text === '' ? undefined : text
}

/** A text from the address. Digits that were parsed as a number become text again; an empty text does not filter. */
export function searchText(value: unknown): string | undefined {
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  return text === '' ? undefined : text
}

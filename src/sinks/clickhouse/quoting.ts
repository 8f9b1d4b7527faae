/** Quotes names and texts for ClickHouse's SQL, which interprets backslashes in both. */

export function quote(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}

export function literal(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

export function quoted(names: readonly string[]): string {
  return names.map(quote).join(', ')
}

/** Names and texts in the SQL of ClickHouse, which reads backslashes in both. */

export function quote(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}

export function literal(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

export function quoted(names: readonly string[]): string {
  return names.map(quote).join(', ')
}

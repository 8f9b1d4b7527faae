/** Without the given characters at its end. An expression such as /0+$/ takes quadratic time on "000…01". */
export function trimEnd(text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}

/** `1.500` becomes `1.5`, `2.000` becomes `2`. The text must contain a point. */
export function withoutTrailingZeros(text: string): string {
  const short = trimEnd(text, '0')
  return short.endsWith('.') ? short.slice(0, -1) : short
}

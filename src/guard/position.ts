/** A position in a text: offset counts UTF-16 units from 0, as in JavaScript; line and column count from 1. */
export interface TextPosition {
  readonly offset: number
  readonly line: number
  readonly column: number
}

export function positionAt(text: string, offset: number): TextPosition {
  const before = text.slice(0, Math.max(0, offset))
  const lineStart = before.lastIndexOf('\n') + 1
  return {
    offset: before.length,
    line: before.split('\n').length,
    // Code points: an emoji is one column.
    column: [...before.slice(lineStart)].length + 1,
  }
}

/** The parser counts UTF-8 bytes in its tree … */
export function positionOfByte(text: string, byte: number): TextPosition {
  return positionsOfBytes(text, [byte])[0]!
}

/** Reads the text once for any number of positions: once for each of 17,000 tables took 90 s. */
export function positionsOfBytes(text: string, bytes: readonly number[]): TextPosition[] {
  const found = new Map<number, TextPosition>()
  const wanted = [...new Set(bytes)].sort((a, b) => a - b)
  let [byte, offset, line, column, next] = [0, 0, 1, 1, 0]
  for (const each of text) {
    for (; next < wanted.length && wanted[next]! <= byte; next++)
      found.set(wanted[next]!, { offset, line, column })
    if (next === wanted.length) break
    byte += bytesOf(each.codePointAt(0)!)
    offset += each.length
    line += each === '\n' ? 1 : 0
    column = each === '\n' ? 1 : column + 1
  }
  return bytes.map((one) => found.get(one) ?? { offset, line, column })
}

function bytesOf(codePoint: number): number {
  return codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
}

/** … and whole characters in its errors, as the server does. */
export function positionOfCharacter(text: string, character: number): TextPosition {
  let offset = 0
  for (const each of text) {
    if (character-- <= 0) break
    offset += each.length
  }
  return positionAt(text, offset)
}

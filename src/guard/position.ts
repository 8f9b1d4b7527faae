/** A place in a text: offset counts UTF-16 units from 0, as JavaScript does; line and column count from 1, as people do. */
export interface Position {
  readonly offset: number
  readonly line: number
  readonly column: number
}

export function positionAt(text: string, offset: number): Position {
  const before = text.slice(0, Math.max(0, offset))
  const lineStart = before.lastIndexOf('\n') + 1
  return {
    offset: before.length,
    line: before.split('\n').length,
    // By code points: an emoji is one column.
    column: [...before.slice(lineStart)].length + 1,
  }
}

/** The parser counts bytes of UTF-8 in its tree … */
export function positionOfByte(text: string, byte: number): Position {
  return positionAt(text, Buffer.from(text).subarray(0, Math.max(0, byte)).toString().length)
}

/** … and whole characters in its errors, as the server does. */
export function positionOfCharacter(text: string, character: number): Position {
  let offset = 0
  for (const each of text) {
    if (character-- <= 0) break
    offset += each.length
  }
  return positionAt(text, offset)
}

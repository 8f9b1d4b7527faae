/** COPY's text format, byte by byte: values of 100 MB pass without a string for every escape in them. */

/** A row as text values in the order of the columns; null is NULL. */
export type TextValues = readonly (string | null)[]

const TAB = 0x09
const NEWLINE = 0x0a
const BACKSLASH = 0x5c
const NULL_MARK = Buffer.from('\\N')
const LETTERS = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '\\': '\\' } as const

/** Maps an escape letter to its byte, and a byte to its letter; 0 where no mapping exists. */
const UNESCAPED = new Uint8Array(256)
const ESCAPED = new Uint8Array(256)
for (const [letter, char] of Object.entries(LETTERS)) {
  UNESCAPED[letter.charCodeAt(0)] = char.charCodeAt(0)
  ESCAPED[char.charCodeAt(0)] = letter.charCodeAt(0)
}

/** Whole lines as rows, exactly as the server wrote them. The last newline is not part of them. */
export function decodeLines(bytes: Buffer): TextValues[] {
  const rows: TextValues[] = []
  for (let start = 0; start <= bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline < 0 ? bytes.length : newline
    rows.push(decodeLine(bytes.subarray(start, end)))
    start = end + 1
  }
  return rows
}

function decodeLine(line: Buffer): TextValues {
  const values: (string | null)[] = []
  for (let start = 0; start <= line.length; ) {
    const tab = line.indexOf(TAB, start)
    const end = tab < 0 ? line.length : tab
    values.push(decodeValue(line.subarray(start, end)))
    start = end + 1
  }
  return values
}

function decodeValue(bytes: Buffer): string | null {
  const first = bytes.indexOf(BACKSLASH)
  if (first < 0) return bytes.toString('utf8')
  if (bytes.equals(NULL_MARK)) return null
  const plain = Buffer.allocUnsafe(bytes.length)
  bytes.copy(plain, 0, 0, first)
  let length = first
  for (let at = first; at < bytes.length; at++) {
    const byte = bytes[at]!
    plain[length++] = byte === BACKSLASH ? UNESCAPED[bytes[++at]!] || bytes[at]! : byte
  }
  return plain.toString('utf8', 0, length)
}

const SMALL = 16_384

/** Rows as pieces to be written one after another: small values together, large ones alone. */
export function* encodeLines(rows: readonly TextValues[]): Generator<string | Buffer> {
  let text = ''
  for (const row of rows) {
    for (const [index, value] of row.entries()) {
      if (index > 0) text += '\t'
      if (value === null) text += '\\N'
      else if (value.length < SMALL) text += encodeSmall(value)
      else {
        yield text
        yield encodeLarge(value)
        text = ''
      }
    }
    text += '\n'
  }
  yield text
}

const SPECIAL = /[\b\f\n\r\t\v\\]/
const ALL_SPECIAL = /[\b\f\n\r\t\v\\]/g

function encodeSmall(value: string): string {
  if (!SPECIAL.test(value)) return value
  return value.replace(ALL_SPECIAL, (char) => `\\${String.fromCharCode(ESCAPED[char.charCodeAt(0)]!)}`)
}

function encodeLarge(value: string): Buffer {
  const plain = Buffer.from(value, 'utf8')
  let specials = 0
  for (const byte of plain) if (ESCAPED[byte] !== 0) specials += 1
  if (specials === 0) return plain
  const escaped = Buffer.allocUnsafe(plain.length + specials)
  let length = 0
  for (const byte of plain) {
    if (ESCAPED[byte] !== 0) escaped[length++] = BACKSLASH
    escaped[length++] = ESCAPED[byte] || byte
  }
  return escaped
}

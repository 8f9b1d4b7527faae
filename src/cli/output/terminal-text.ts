// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file is about.
/**
 * Control characters except tab and line feed, and characters that reorder text: everything in data that could
 * control a terminal.
 */
const STEERING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** The sequences that `output.ts` writes itself: bold, dim and five colours, on and off. */
const OWN_STYLES = /\x1b\[(?:1|2|22|31|32|33|36|39)m/g

/** Text from outside, with every character visible that could move the cursor, hide text or fake a line. */
export function visibleText(text: string): string {
  return text.replace(STEERING, escaped)
}

/** Text from outside within a line: a line feed in it could begin a line that looks like one of this program. */
export function inlineText(text: string): string {
  return visibleText(text.replace(/\s+/g, ' '))
}

/** A line of this program, which may contain styles and text from outside. */
export function terminalLine(line: string): string {
  const styles = line.match(OWN_STYLES) ?? []
  return line
    .split(OWN_STYLES)
    .map((part, n) => visibleText(part) + (styles[n] ?? ''))
    .join('')
}

/**
 * JSON and YAML keep their meaning: DEL, the C1 controls and characters that reorder text are between quotes, and both
 * formats read the escape as the same character.
 */
export function machineText(text: string): string {
  return text.replace(/[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, escapedAsJson)
}

function escaped(char: string): string {
  const code = char.charCodeAt(0)
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : escapedAsJson(char)
}

function escapedAsJson(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

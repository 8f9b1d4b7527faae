// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file is about.
import { randomBytes } from 'node:crypto'

/**
 * Control characters except tab and line feed, and characters that reorder text: everything in data that could
 * control a terminal.
 */
const STEERING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** Random, so that text from outside cannot contain a style: a red line in a value looked like one of this program. */
const STYLE = `<${randomBytes(16).toString('hex')}:`
const STYLES = new RegExp(`${STYLE}(\\d+)>`, 'g')

/** Begins what follows a line feed within a line, so that it does not look like a line of this program. */
const CONTINUED = '\n  │ '

/** Text from outside, with every character visible that could move the cursor, hide text or fake a line. */
export function visibleText(text: string): string {
  return text.replace(STEERING, escaped)
}

/** Text from outside within a line: a line feed in it could begin a line that looks like one of this program. */
export function inlineText(text: string): string {
  return visibleText(text.replace(/\s+/g, ' '))
}

/** Text of this program in a style: numbers of the terminal that begin and end it. */
export function styled(text: string, begin: number, end: number): string {
  return `${STYLE}${begin}>${text}${STYLE}${end}>`
}

/** A line of this program, which may contain styles and text from outside. */
export function terminalLine(line: string): string {
  return visibleText(line).replaceAll('\n', CONTINUED).replace(STYLES, '\x1b[$1m')
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

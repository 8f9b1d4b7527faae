/** A place in a file, counted from 1, with its text. */
export interface FilePosition {
  readonly file: string
  readonly line: number
  readonly column: number
  /** The line and a caret below it. */
  readonly excerpt: readonly string[]
}

export interface FileMistake {
  readonly place: FilePosition
  readonly message: string
}

/** Longer lines are cut around the caret. */
const WIDTH = 110

/** A text written by people, in which places can be shown. */
export class SourceText {
  readonly file: string
  readonly text: string
  readonly #lines: readonly string[]

  constructor(file: string, text: string) {
    this.file = file
    this.text = text
    this.#lines = text.split(/\r?\n/)
  }

  place(line: number, column: number, length = 1): FilePosition {
    return { file: this.file, line, column, excerpt: this.excerpt(line, column, length) }
  }

  excerpt(line: number, column: number, length = 1): string[] {
    const whole = this.#lines[line - 1] ?? ''
    const from = column > WIDTH ? column - Math.floor(WIDTH / 2) : 0
    const shown = whole.slice(from, from + WIDTH)
    const margin = String(line).length
    // Tabs are kept in the line below, or the caret would be misplaced.
    const indent = shown.slice(0, column - 1 - from).replace(/[^\t]/g, ' ')
    const carets = '^'.repeat(Math.max(1, Math.min(length, shown.length - indent.length)))
    return [`${line} | ${shown}`, `${' '.repeat(margin)} | ${indent}${carets}`]
  }
}

/** `file:line:column: message`, the format that editors and terminals can open. */
export function mistakeLines({ place, message }: FileMistake): string[] {
  return [
    `${place.file}:${place.line}:${place.column}: ${message}`,
    ...place.excerpt.map((line) => `  ${line}`),
  ]
}

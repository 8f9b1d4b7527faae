import { inlineText } from './terminal-text.js'

const STILL_MS = 5_000
const CLEAR_LINE = '\r\x1b[2K'

/** One line on stderr that changes in place; without a terminal, a new line whenever the text changes. */
export class ProgressLine {
  #printed = ''
  #printedAt = 0
  #isOpen = false

  show(line: string): void {
    if (process.stderr.isTTY) this.#rewrite(line)
    else this.#append(line)
  }

  /** The next output starts on its own line. */
  end(): void {
    if (this.#isOpen) process.stderr.write('\n')
    this.#isOpen = false
  }

  #rewrite(line: string): void {
    const width = (process.stderr.columns ?? 80) - 1
    process.stderr.write(`${CLEAR_LINE}${inlineText(line).slice(0, width)}`)
    this.#isOpen = true
  }

  #append(line: string): void {
    if (line === this.#printed && performance.now() - this.#printedAt < STILL_MS) return
    process.stderr.write(`  ${inlineText(line)}\n`)
    this.#printed = line
    this.#printedAt = performance.now()
  }
}

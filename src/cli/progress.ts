import { visibleText } from './terminal-text.js'

const STILL_MS = 5_000
const CLEAR_LINE = '\r\x1b[2K'

/** One line on stderr that changes in place; without a terminal a new line when there is something new to say. */
export class Progress {
  #told = ''
  #toldAt = 0
  #isOpen = false

  tell(line: string): void {
    if (process.stderr.isTTY) this.#rewrite(line)
    else this.#append(line)
  }

  /** What is said next begins on a line of its own. */
  end(): void {
    if (this.#isOpen) process.stderr.write('\n')
    this.#isOpen = false
  }

  #rewrite(line: string): void {
    const width = (process.stderr.columns ?? 80) - 1
    process.stderr.write(`${CLEAR_LINE}${visibleText(line).slice(0, width)}`)
    this.#isOpen = true
  }

  #append(line: string): void {
    if (line === this.#told && performance.now() - this.#toldAt < STILL_MS) return
    process.stderr.write(`  ${visibleText(line)}\n`)
    this.#told = line
    this.#toldAt = performance.now()
  }
}

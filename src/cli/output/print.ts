import pc from 'picocolors'
import { asVitrinaError } from '../../main/as-vitrina-error.js'
import { Stopped } from '../../main/shutdown.js'
import { VitrinaError } from '../../model/errors.js'
import { styled, terminalLine, visibleText } from './terminal-text.js'

export const WRONG_USAGE = 2

const talk = pc.createColors(process.stderr.isTTY === true && !process.env.NO_COLOR)
const isStyled = process.stdout.isTTY === true && !process.env.NO_COLOR

/** Results go to stdout, so that they can be piped. */
export function print(line = ''): void {
  process.stdout.write(`${terminalLine(line)}\n`)
}

/** Progress goes to stderr. */
export function step(line: string): void {
  process.stderr.write(`${talk.cyan('•')} ${terminalLine(line)}\n`)
}

export function detail(line: string): void {
  process.stderr.write(`  ${terminalLine(line)}\n`)
}

/** Mistakes, excerpts and warnings, on stderr without a bullet. */
export function note(line: string): void {
  process.stderr.write(`${terminalLine(line)}\n`)
}

/** Text of several lines for another program, such as SQL. */
export function printText(text: string): void {
  process.stdout.write(`${visibleText(text)}\n`)
}

export const bold = (text: string) => style(text, 1, 22)
export const good = (text: string) => style(text, 32, 39)
export const bad = (text: string) => style(text, 31, 39)
export const dim = (text: string) => style(text, 2, 22)

function style(text: string, begin: number, end: number): string {
  return isStyled ? styled(text, begin, end) : text
}

/** Prints the error and its remedy. Returns the exit code. */
export function explain(error: unknown): number {
  if (error instanceof Stopped) {
    process.stderr.write(`${terminalLine(error.message)}\n`)
    return error.exitCode
  }
  const known = asVitrinaError(error)
  process.stderr.write(
    `${talk.red('✗')} ${talk.bold(`${known.vtr} ${known.code}`)}: ${terminalLine(known.message)}\n  ${talk.yellow('→')} ${terminalLine(known.hint)}\n`,
  )
  if (process.env.LOG_LEVEL === 'debug') process.stderr.write(`${visibleText(stackOf(error))}\n`)
  return known.code === 'USAGE_INVALID' ? WRONG_USAGE : 1
}

function stackOf(error: unknown): string {
  const cause = error instanceof VitrinaError ? error.cause : undefined
  return [error, cause]
    .flatMap((one) => (one instanceof Error ? [one.stack ?? one.message] : []))
    .join('\ncaused by ')
}

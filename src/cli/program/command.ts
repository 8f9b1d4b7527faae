import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { unreadableFile } from '../../config/unreadable-file.js'
import { VitrinaError } from '../../model/errors.js'
import { formatOption, jsonOption } from '../output/format.js'

export interface CommandHelp {
  readonly usage: string
  readonly description: string
  readonly examples: readonly string[]
}

/** A command with examples in its help: most people read only those. */
export function command(parent: Command, { usage, description, examples }: CommandHelp): Command {
  const lines = examples.map((example) => `  $ vitrina ${example}`)
  return parent
    .command(usage)
    .description(description)
    .addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
}

/** A command with subcommands. */
export function group(program: Command, name: string, description: string): Command {
  return program.command(name).description(description)
}

/** A command that sends requests to a server. */
export function serverCommand(parent: Command, help: CommandHelp): Command {
  return command(parent, help)
    .optionsGroup('Server:')
    .option('--url <url>', 'address of the server (VITRINA_URL)')
    .option(
      '--token <token>',
      'bearer token; visible in the process list, so prefer VITRINA_API_TOKEN or a context',
    )
    .option('--context <name>', 'server and token of this context (VITRINA_CONTEXT)')
    .optionsGroup('Options:')
}

/** A command that reads: a table for people, or the response of the API for programs. */
export function readingCommand(parent: Command, help: CommandHelp): Command {
  return serverCommand(parent, help).addOption(formatOption()).addOption(jsonOption())
}

export function wholeNumber(given: string): number {
  if (!/^\d{1,15}$/.test(given)) throw new InvalidArgumentError('Enter a whole number.')
  return Number(given)
}

export function decimal(given: string): number {
  if (!/^\d{1,15}(\.\d{1,15})?$/.test(given)) throw new InvalidArgumentError('Enter a number.')
  return Number(given)
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** In seconds. */
export function timeSpan(given: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(given) ?? []
  if (unit === '') throw new InvalidArgumentError('Enter a duration such as 30m, 1h or 7d.')
  return Number(count) * UNITS[unit]!
}

/** `--key a --key b` and `--key a,b` mean the same. */
export function collect(given: string, before: string[] | undefined): string[] {
  const names = given.split(',').map((name) => name.trim())
  return [...(before ?? []), ...names.filter((name) => name !== '')]
}

/** For commands that read pipeline files. */
export function allowEnvOption(): Option {
  return new Option(
    '--allow-env <patterns>',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: references in files look like that.
    'environment variables that ${env:NAME} may read, such as FILM_*; repeat the option or separate with commas',
  ).argParser(collect)
}

/** The text of a file, or of stdin for "-". */
export async function readInput(path: string): Promise<string> {
  if (path === '-') return text(process.stdin)
  return readFile(path, 'utf8').catch((error) => {
    throw unreadableFile(path, error, 'Give an existing file, or - for stdin.')
  })
}

/** Prompts the user. Without a terminal, the script must pass --yes. */
export async function confirm(question: string, { yes = false }: { yes?: boolean }): Promise<boolean> {
  if (yes) return true
  if (!isTerminal())
    throw new VitrinaError(
      'USAGE_INVALID',
      `${question} Cannot prompt: not a terminal.`,
      'Add --yes to continue without confirmation.',
    )
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

export function isTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

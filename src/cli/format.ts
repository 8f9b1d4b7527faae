import { Option } from 'commander'
import { stringify } from 'yaml'
import { machineText } from './terminal-text.js'

const FORMATS = ['table', 'json', 'yaml', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

export interface FormatFlags {
  /** table: for people, whatever shape that has. */
  readonly output?: Format
}

/** Both belong to a command: `.addOption(formatOption()).addOption(jsonOption())`. */
export function formatOption(): Option {
  return new Option(
    '-o, --output <format>',
    'table for people; the answer of the API as json or yaml; one item a line as ndjson',
  )
    .choices(FORMATS)
    .default('table')
}

export function jsonOption(): Option {
  return new Option('--json', 'the same as --output json').implies({ output: 'json' })
}

/** Somebody wants the answer itself. */
export function isData({ output = 'table' }: FormatFlags): boolean {
  return output !== 'table'
}

export function printData(value: unknown, { output }: FormatFlags): void {
  if (output === 'yaml') write(stringify(value, { lineWidth: 0 }))
  else if (output === 'ndjson') for (const item of itemsOf(value)) write(`${JSON.stringify(item)}\n`)
  else write(`${JSON.stringify(value, null, 2)}\n`)
}

function write(text: string): void {
  process.stdout.write(machineText(text))
}

/** A list by its items, anything else as one. */
function itemsOf(value: unknown): readonly unknown[] {
  const { items } = value as { items?: unknown }
  return Array.isArray(items) ? items : [value]
}

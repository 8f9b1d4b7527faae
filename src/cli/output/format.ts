import { Option } from 'commander'
import { yamlText } from '../../config/pipeline-yaml.js'
import { machineText } from './terminal-text.js'

const FORMATS = ['table', 'json', 'yaml', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

export interface FormatFlags {
  /** table: for people, in any layout. */
  readonly output?: Format
}

/** Both belong to a command: `.addOption(formatOption()).addOption(jsonOption())`. */
export function formatOption(): Option {
  return new Option(
    '-o, --output <format>',
    'table for people; json or yaml for the response of the API; ndjson for one item per line',
  )
    .choices(FORMATS)
    .default('table')
}

export function jsonOption(): Option {
  return new Option('--json', 'the same as --output json').implies({ output: 'json' })
}

/** The user wants the response itself. */
export function isData({ output = 'table' }: FormatFlags): boolean {
  return output !== 'table'
}

export function printData(value: unknown, { output }: FormatFlags): void {
  if (output === 'yaml') write(yamlText(value))
  else if (output === 'ndjson') for (const item of itemsOf(value)) write(`${JSON.stringify(item)}\n`)
  else write(`${JSON.stringify(value, null, 2)}\n`)
}

function write(text: string): void {
  process.stdout.write(machineText(text))
}

/** A list as its items, anything else as one item. */
function itemsOf(value: unknown): readonly unknown[] {
  const { items } = value as { items?: unknown }
  return Array.isArray(items) ? items : [value]
}

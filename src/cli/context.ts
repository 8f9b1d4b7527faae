import type { Command } from 'commander'
import {
  type Contexts,
  contextsPath,
  readContexts,
  requireContext,
  writeContexts,
} from '../config/contexts.js'
import { VitrinaError } from '../model/errors.js'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from './output/format.js'
import { detail, print } from './output/print.js'
import { printTable } from './output/print-table.js'
import { command, group, readInput } from './program/command.js'
import { requireUrl } from './server/connection.js'
import { warnOfToken } from './server/server.js'

export function addContext(program: Command): void {
  const context = group(program, 'context', 'Manage named servers and their tokens.')
  command(context, {
    usage: 'list',
    description: 'List the contexts, without their tokens.',
    examples: ['context list'],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(list)
  command(context, {
    usage: 'add <name>',
    description: 'Save a server under a name, or replace it.',
    examples: ['context add production --url https://vitrina.example.com --token - < token.txt'],
  })
    .requiredOption('--url <url>', 'address of the server')
    .option('--token <token>', 'token of the server; - reads it from stdin, hidden from other processes')
    .option('--use', 'make it the current context')
    .action(add)
  command(context, {
    usage: 'use [name]',
    description: 'Set the current context. Without a name, return to the server of the current folder.',
    examples: ['context use production', 'context use'],
  }).action(use)
  command(context, {
    usage: 'remove <name>',
    description: 'Remove a server and its token.',
    examples: ['context remove production'],
  }).action(remove)
}

async function list(flags: FormatFlags): Promise<void> {
  const { current, contexts } = await readContexts()
  const items = Object.entries(contexts).map(([name, { url, token }]) => ({
    name,
    url,
    has_token: token !== null,
    current: name === current,
  }))
  if (isData(flags)) return printData({ items }, flags)
  printTable(
    ['', 'name', 'url', 'token'],
    items.map((one) => [one.current ? '*' : '', one.name, one.url, one.has_token ? 'kept' : 'none']),
    `No contexts in ${contextsPath()}.`,
  )
}

async function add(
  name: string,
  { url, token, use: isUsed }: { url: string; token?: string; use?: boolean },
): Promise<void> {
  if (!/^[\w.-]{1,100}$/.test(name))
    throw new VitrinaError(
      'USAGE_INVALID',
      `"${name}" is not a valid context name.`,
      'Use letters, digits, dots and dashes.',
    )
  if (token !== undefined && token !== '-') warnOfToken('Give "--token -" and the token on stdin instead.')
  const kept = token === '-' ? (await readInput('-')).trim() : (token ?? null)
  const before = await readContexts()
  const contexts = { ...before.contexts, [name]: { url: requireUrl(url), token: kept } }
  await writeContexts({ current: isUsed ? name : before.current, contexts })
  print(`Kept ${name}.`)
  if (!isUsed) detail(`Run "vitrina context use ${name}" to make it the current context.`)
}

async function use(name: string | undefined): Promise<void> {
  const before = await readContexts()
  const after: Contexts = { ...before, current: name ?? null }
  if (name !== undefined) requireContext(before, name)
  await writeContexts(after)
  print(
    name === undefined ? 'Commands now use the server of the current folder.' : `Commands now use ${name}.`,
  )
}

async function remove(name: string): Promise<void> {
  const { current, contexts } = await readContexts()
  requireContext({ current, contexts }, name)
  const { [name]: _, ...rest } = contexts
  await writeContexts({ current: current === name ? null : current, contexts: rest })
  print(`Forgot ${name}.`)
}

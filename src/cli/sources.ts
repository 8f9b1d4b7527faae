import { type Command, Option } from 'commander'
import { withExistingDatabase } from '../main/database.js'
import { readEnvironment } from '../main/environment.js'
import { untilStopped } from '../main/shutdown.js'
import type { SourcePlan } from '../main/source-plan.js'
import { VitrinaError } from '../model/errors.js'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from './output/format.js'
import { detail, good, note, print, printText, step } from './output/print.js'
import { bytes } from './output/print-table.js'
import { inlineText } from './output/terminal-text.js'
import { command, group } from './program/command.js'
import { listCommand } from './program/list-command.js'

interface PrepareFlags extends FormatFlags {
  readonly apply?: boolean
  readonly identity?: boolean
  readonly url?: string
}

export function addSources(program: Command): void {
  const sources = group(program, 'sources', 'Inspect and prepare the databases whose changes are captured.')
  listCommand(sources, {
    usage: 'list',
    description: 'List the databases whose changes are captured: slot, lag, and WAL kept on the source.',
    examples: ['sources list', 'sources list --json | jq ".items[] | {connection, held_bytes}"'],
    route: '/sources',
    columns: {
      source: ({ connection }) => connection,
      state: ({ state }) => state,
      runner: ({ owner }) => owner,
      way: ({ way }) => way,
      lag: ({ lag_bytes }) => bytes(lag_bytes),
      'kept on source': ({ held_bytes }) => bytes(held_bytes),
      slot: ({ slot }) => slot,
      'weak identities': ({ tables }) => tables?.filter((table) => !table.is_lossless).length,
      pipelines: ({ pipelines }) => pipelines.map(({ name }) => name).join(', '),
    },
    none: 'No pipeline has capture wal.',
    after: ({ items }) => {
      for (const { connection, error, lost } of items) {
        if (error !== null) note(inlineText(`${connection}: ${error.message}`))
        if (lost !== null) detail(inlineText(`${connection}: a slot was lost at ${lost.at}. ${lost.reason}`))
      }
    },
  })
  command(sources, {
    usage: 'prepare [connection]',
    description:
      'Print the statements that a source needs for the pipelines with capture wal, as SQL. Changes nothing without --apply.',
    examples: [
      'sources prepare',
      'sources prepare main --apply',
      'sources prepare shop --apply --url postgres://owner@shop.example.com/shop',
      'sources prepare main --apply --identity',
    ],
  })
    .option('--apply', 'run the statements for the publication')
    .option('--identity', 'with --apply: also run the statements for the replica identities')
    .addOption(
      new Option(
        '--url <address>',
        'address of the source as the owner of its tables; default: DATABASE_URL, or the address of the connection',
      ),
    )
    .addOption(formatOption())
    .addOption(jsonOption())
    .action((connection: string | undefined, flags: PrepareFlags) =>
      untilStopped((signal) => prepare(connection, flags, signal)),
    )
}

async function prepare(
  connection: string | undefined,
  flags: PrepareFlags,
  signal: AbortSignal,
): Promise<void> {
  requireConsistent(connection, flags)
  const settings = await withExistingDatabase(readEnvironment())
  // Not at the top: every other command would wait for modules that it does not use.
  const { applySource, capturedConnections, planSource } = await import('../main/source-plan.js')
  const names = connection === undefined ? await capturedConnections(settings) : [connection.toLowerCase()]
  const plans: SourcePlan[] = []
  for (const name of names) {
    const options = { connection: name, ownerUrl: flags.url ?? null, signal }
    const onStatement = (statement: string) => step(`Ran ${inlineText(statement)}`)
    plans.push(
      flags.apply
        ? await applySource(settings, { ...options, identity: flags.identity ?? false, onStatement })
        : await planSource(settings, options),
    )
  }
  if (isData(flags)) printData({ items: plans.map(toJson) }, flags)
  else if (plans.length === 0) detail('No pipeline has capture wal, so there is nothing to prepare.')
  else for (const plan of plans) printPlan(plan)
  // What was requested did not lead to a source that is ready.
  if (flags.apply && plans.some(({ isReady }) => !isReady)) process.exitCode = 1
}

function requireConsistent(connection: string | undefined, { apply, identity, url }: PrepareFlags): void {
  if (identity && !apply)
    throw new VitrinaError('USAGE_INVALID', '--identity requires --apply.', 'Add --apply, or leave it out.')
  if (url !== undefined && connection === undefined)
    throw new VitrinaError(
      'USAGE_INVALID',
      '--url belongs to one source.',
      'Name the connection: vitrina sources prepare main --url …',
    )
}

/** A script for psql: what is missing as statements, everything else as comments. */
function printPlan(plan: SourcePlan): void {
  const { connection, pipelines, server, login, publish, identities, isReady } = plan
  comment(`Source ${connection}`)
  if (pipelines.length === 0) comment('No pipeline with capture wal reads from it.')
  for (const { name, tables, problem } of pipelines)
    comment(`Pipeline ${name}: ${problem === null ? tables.join(', ') : problem}`)
  for (const one of [...server, login]) {
    comment(`${one.isMet ? 'ok' : 'MISSING'}: ${one.text}`)
    if (one.statement === null) continue
    if (one.needsRestart) comment('By an administrator, who then restarts the server; Vitrina does neither:')
    else comment('By an administrator:')
    comment(`${one.statement};`)
  }
  comment(
    publish.statements.length === 0
      ? `ok: the publication ${plan.publication} has every table.`
      : 'MISSING: the publication. By the owner of the tables, or with --apply:',
  )
  for (const statement of publish.statements) printText(`${statement};`)
  for (const { reason, remedy } of publish.refused) {
    comment(`MISSING: ${reason}`)
    if (remedy !== null) comment(`${remedy};`)
  }
  for (const one of identities.filter(({ isLossless }) => !isLossless)) {
    comment(`Recommended for ${one.table}: ${one.reason}`)
    comment(`${one.until}`)
    if (one.cost !== null) comment(`${one.cost}`)
    for (const statement of one.statements) printText(`${statement};`)
  }
  if (isReady) note(`${good('✓')} The source ${connection} is ready.`)
  else note(`The source ${connection} is not ready yet.`)
}

/** The name of a table may contain a line feed: what follows it would be a statement of the script. */
function comment(text: string): void {
  print(`-- ${inlineText(text)}`)
}

function toJson({ publish, identities, isReady, ...plan }: SourcePlan): Record<string, unknown> {
  const requirement = ({ isMet, text, statement, needsRestart }: SourcePlan['login']) => ({
    is_met: isMet,
    text,
    statement,
    needs_restart: needsRestart,
  })
  return {
    ...plan,
    server: plan.server.map(requirement),
    login: requirement(plan.login),
    publish,
    identities: identities.map(({ isLossless, ...rest }) => ({ ...rest, is_lossless: isLossless })),
    is_ready: isReady,
  }
}

import type { Command } from 'commander'
import { VitrinaError } from '../../model/errors.js'
import { type Format, isData, printData } from '../output/format.js'
import { bad, detail, good, print } from '../output/print.js'
import { printTable } from '../output/print-table.js'
import { inlineText } from '../output/terminal-text.js'
import { readingCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer, type Server } from '../server/server.js'
import type { Pipeline, Reconciliation } from '../server/wire.js'
import { awaitRun } from './run.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly deep?: boolean
  readonly repair?: boolean
  readonly wait?: boolean
}

const SHOWN_KEYS = 5

export function addReconcile(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'reconcile <pipeline>',
    description: 'Compare a mart with the current result of its query. Exit code 1 if it differs.',
    examples: ['pipelines reconcile film_dim --deep', 'pipelines reconcile film_dim --repair --wait'],
  })
    .option('--deep', 'compare row by row instead of counts only')
    .option('--repair', 'request a run that repairs the rows that differ')
    .option('--wait', 'with --repair: wait for that run and compare again')
    .action(reconcile)
}

async function reconcile(name: string, flags: Flags): Promise<void> {
  if (flags.wait && !flags.repair)
    throw new VitrinaError('USAGE_INVALID', '--wait requires --repair.', 'Add --repair.')
  const server = await openServer(flags)
  const pipeline = await findPipeline(server, name)
  if (flags.repair) return repair(server, pipeline, flags)
  report(pipeline.name, await compare(server, pipeline, flags.deep ?? false), flags)
}

function compare(server: Server, { id }: Pipeline, deep: boolean): Promise<Reconciliation> {
  const params = { path: { id }, query: { deep } }
  return server.ask(server.api.GET('/pipelines/{id}/reconcile', { params, ...server.withoutTimeout }))
}

async function repair(server: Server, pipeline: Pipeline, flags: Flags): Promise<void> {
  const params = { path: { id: pipeline.id } }
  const answer = await server.ask(
    server.api.POST('/pipelines/{id}/reconcile/repair', { params, ...server.withoutTimeout }),
  )
  if (answer.run_id !== null && flags.wait) {
    detail(`Run ${answer.run_id} repairs ${answer.rows} rows.`)
    await awaitRun(server, { id: answer.run_id, pipelineId: pipeline.id }, { follow: !isData(flags) })
    return report(pipeline.name, await compare(server, pipeline, true), flags)
  }
  if (isData(flags)) return printData(answer, flags)
  if (answer.run_id === null) return print(`${good('✓')} ${pipeline.name} matches; nothing to repair.`)
  print(`Run ${answer.run_id} repairs ${answer.rows} rows of ${pipeline.name}.`)
}

function report(name: string, answer: Reconciliation, flags: Flags): void {
  if (!answer.matches) process.exitCode = 1
  if (isData(flags)) printData(answer, flags)
  else printComparison(name, answer)
}

function printComparison(name: string, answer: Reconciliation): void {
  print(answer.matches ? `${good('✓')} ${name} matches.` : `${bad('✗')} ${name} differs.`)
  const { source, target, control_field: field } = answer
  printTable(
    ['', 'rows', `least ${field}`, `greatest ${field}`],
    [
      ['source', source.count, source.min, source.max],
      ['mart', target.count, target.min, target.max],
    ],
    '',
  )
  printDrift(answer)
}

function printDrift({ missing, extra, different, on_their_way, undecided }: Reconciliation): void {
  for (const [word, drift] of Object.entries({ missing, extra, different }))
    if (drift !== undefined && drift.count > 0)
      print(
        `${word}: ${drift.count} ${drift.count === 1 ? 'row' : 'rows'}, such as ${drift.keys
          .slice(0, SHOWN_KEYS)
          .map((key) => inlineText(Object.values(key).join('/')))
          .join(', ')}`,
      )
  if (on_their_way)
    print(
      `pending: ${on_their_way} rows that the pipeline has not reached yet${undecided ? `; ${undecided} of them cannot be distinguished from drift before the next run` : ''}`,
    )
}

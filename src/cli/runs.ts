import { type Command, Option } from 'commander'
import { VitrinaError } from '../model/errors.js'
import { isId } from '../model/id.js'
import { RUN_STATUSES } from '../model/status.js'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from './output/format.js'
import { print } from './output/print.js'
import { duration, momentText, printFields, printTable } from './output/print-table.js'
import { group, readingCommand, serverCommand } from './program/command.js'
import { type ListColumns, listCommand } from './program/list-command.js'
import { addRunLog } from './run-log.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { openServer, type Server } from './server/server.js'
import { readRun } from './server/watch-run.js'
import type { Run, RunDetail, RunStatus } from './server/wire.js'

/** The runs of one pipeline and of all are listed in the same way. */
export const RUN_TABLE = {
  pages: { of: 'runs', limit: 20 },
  columns: {
    run: ({ id }) => id,
    pipeline: ({ pipeline_name }) => pipeline_name,
    status: ({ status }) => status,
    started: ({ started_at }) => momentText(started_at),
    took: ({ duration_ms }) => duration(duration_ms),
    read: ({ rows_read }) => rows_read,
    written: ({ rows_written }) => rows_written,
    deleted: ({ rows_deleted }) => rows_deleted,
    error: ({ error_code }) => error_code,
  } satisfies ListColumns<Run>,
  none: 'No runs found.',
}

export function statusOption(): Option {
  return new Option('--status <status>', 'only runs with this status').choices(RUN_STATUSES)
}

export function addRuns(program: Command): void {
  const runs = group(program, 'runs', 'Inspect and cancel runs of all pipelines.')
  listCommand(runs, {
    usage: 'list',
    description: 'List runs, newest first.',
    examples: ['runs list', 'runs list --pipeline film_dim --status FAILED'],
    route: '/runs',
    filters: [
      {
        option: new Option('--pipeline <name>', 'only runs of this pipeline'),
        query: async (name, server) => ({ pipeline_id: (await findPipeline(server, name)).id }),
      },
      { option: statusOption(), query: (status) => ({ status: [status as RunStatus] }) },
    ],
    ...RUN_TABLE,
  })
  readingCommand(runs, {
    usage: 'get <run>',
    description: 'Show a run with its latest batches.',
    examples: ['runs get 0b6a1f5e-6a0e-4d3f-9a53-0c5d6f7b8a91'],
  }).action(get)
  addRunLog(runs)
  serverCommand(runs, {
    usage: 'cancel <run>',
    description: 'Stop a run after its current batch and keep its checkpoint.',
    examples: ['runs cancel 0b6a1f5e-6a0e-4d3f-9a53-0c5d6f7b8a91'],
  })
    .addOption(forceOption())
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(cancelRun)
}

async function get(id: string, flags: ServerFlags & FormatFlags): Promise<void> {
  const run = await readRun(await openServer(flags), id)
  if (isData(flags)) printData(run, flags)
  else printRun(run)
}

/** For a batch that does not respond: it waits for a lock, or for a server that does not answer. */
export function forceOption(): Option {
  return new Option('--force', 'stop at once: roll back the current batch; earlier batches are kept')
}

interface CancelFlags extends ServerFlags, FormatFlags {
  readonly force?: boolean
}

/** By the id of the run, or by its pipeline. */
export async function cancelRun(runOrPipeline: string, flags: CancelFlags): Promise<void> {
  const server = await openServer(flags)
  const id = isId(runOrPipeline) ? runOrPipeline : await currentRun(server, runOrPipeline)
  const params = { path: { id }, query: { force: flags.force } }
  const run = await server.ask(server.api.POST('/runs/{id}/cancel', { params }))
  if (isData(flags)) return printData(run, flags)
  const isOver = run.finished_at !== null
  print(
    isOver
      ? `Run ${id} is ${run.status}.`
      : `Run ${id} of ${run.pipeline_name} stops after its current batch.`,
  )
}

async function currentRun(server: Server, name: string): Promise<string> {
  const { id } = await findPipeline(server, name)
  const { current_run } = await server.ask(
    server.api.GET('/pipelines/{id}/status', { params: { path: { id } } }),
  )
  if (current_run !== null) return current_run.id
  throw new VitrinaError(
    'RUN_NOT_FOUND',
    `Pipeline "${name}" has no run to cancel.`,
    `Run "vitrina pipelines runs ${name}" to list its runs.`,
  )
}

function heldBackLine({ reason, pid, since }: NonNullable<RunDetail['held_back']>): string {
  const session = pid === null ? '' : ` (session ${pid})`
  return `${reason}${session}${since === null ? '' : `, open since ${momentText(since)}`}`
}

function printRun({ batch_history, attempt_history, held_back, waiting, cost, ...run }: RunDetail): void {
  printFields({
    ...run,
    blocks_read: cost?.blocks_read ?? null,
    wal_bytes: cost?.wal_bytes ?? null,
    requested_at: momentText(run.requested_at),
    started_at: momentText(run.started_at),
    finished_at: momentText(run.finished_at),
    duration_ms: duration(run.duration_ms),
    held_back: held_back === null ? null : heldBackLine(held_back),
    waiting: waiting === null ? null : `${waiting.detail} ${waiting.hint}`,
  })
  printAttempts(attempt_history)
  if (batch_history.length === 0) return
  print()
  printTable(
    ['batch', 'step', 'read', 'inserted', 'updated', 'deleted', 'took', 'last key'],
    batch_history
      .slice(0, 20)
      .map((one) => [
        one.batch,
        one.step,
        one.rows_read,
        one.rows_inserted,
        one.rows_updated,
        one.rows_deleted,
        duration(one.duration_ms),
        one.last_key,
      ]),
    '',
  )
}

function printAttempts(attempts: RunDetail['attempt_history']): void {
  if (attempts.length === 0) return
  print()
  printTable(
    ['attempt', 'ended', 'how', 'runner', 'error'],
    attempts.map((one) => [one.attempt, momentText(one.ended_at), one.end, one.runner_id, one.error_code]),
    '',
  )
}

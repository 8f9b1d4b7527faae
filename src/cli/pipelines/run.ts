import type { Command } from 'commander'
import { Stopped, untilStopped } from '../../main/shutdown.js'
import { serverCommand } from '../command.js'
import { watchWithProgress } from '../follow-run.js'
import { type Format, type FormatFlags, formatOption, isData, jsonOption, printData } from '../format.js'
import { detail, good, print } from '../output.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer, type Server } from '../server/server.js'
import { describeRun, readRun, requireSuccess, watchRun } from '../server/watch-run.js'
import { duration } from '../show.js'

interface Flags extends ServerFlags {
  readonly wait?: boolean
  readonly follow?: boolean
  readonly externalRef?: string
  readonly idempotencyKey?: string
  readonly output?: Format
}

export function addRun(pipelines: Command): void {
  serverCommand(
    pipelines,
    'run <pipeline>',
    'Ask for a run. A run that is requested or under way is given again.',
    'pipelines run film_dim',
    'pipelines run film_dim --follow',
    'pipelines run film_dim --wait --external-ref airflow:film_dim:2024-05-01',
  )
    .option('--wait', 'wait for its end; exit code 0 only when it succeeded')
    .option('--follow', 'the same, and show how it gets on; Ctrl-C lets it go on alone')
    .option('--external-ref <text>', 'how an orchestrator calls this run')
    .option('--idempotency-key <key>', 'the same key within 24 hours gives the same run')
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(run)
}

async function run(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const pipeline = await findPipeline(server, name)
  const requested = await request(server, pipeline.id, flags)
  if (flags.wait || flags.follow)
    return awaitRun(server, { id: requested.run_id, pipelineId: pipeline.id }, flags)
  if (isData(flags)) return printData(requested, flags)
  print(`${pipeline.name}: run ${requested.run_id} is requested.`)
  detail(`"vitrina runs get ${requested.run_id}" shows it; --wait or --follow would have waited for its end.`)
}

function request(server: Server, id: string, { externalRef, idempotencyKey }: Flags) {
  const header = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
  const body = externalRef === undefined ? {} : { external_ref: externalRef }
  return server.ask(server.api.POST('/pipelines/{id}/run', { params: { path: { id }, header }, body }))
}

/** Waits for the end of a run, prints it, and throws when it did not succeed. */
export async function awaitRun(
  server: Server,
  run: { id: string; pipelineId: string },
  flags: FormatFlags & { follow?: boolean },
): Promise<void> {
  const ended = await untilStopped(async (signal) => {
    const watch = flags.follow
      ? watchWithProgress(server, run, signal)
      : watchRun(server, run, () => {}, signal)
    return watch.catch((error) => {
      throw signal.aborted ? new Detached(run.id) : error
    })
  })
  if (isData(flags)) printData(await readRun(server, run.id), flags)
  else if (ended.status === 'SUCCESS')
    print(`${good('✓')} ${ended.pipeline_name}: ${describeRun(ended)}, ${duration(ended.duration_ms)}`)
  requireSuccess(ended)
}

/** Looking away does not stop a run. */
class Detached extends Stopped {
  constructor(runId: string) {
    super('Ctrl-C')
    this.message = `Detached: the run goes on. "vitrina runs get ${runId}" shows it, "vitrina runs cancel ${runId}" stops it.`
  }
}

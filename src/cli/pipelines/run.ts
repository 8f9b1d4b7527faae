import { type Command, Option } from 'commander'
import { Stopped, untilStopped } from '../../main/shutdown.js'
import { WAVES, type Wave } from '../../model/order.js'
import {
  type Format,
  type FormatFlags,
  formatOption,
  isData,
  jsonOption,
  printData,
} from '../output/format.js'
import { detail, good, print } from '../output/print.js'
import { duration } from '../output/print-table.js'
import { serverCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { watchWithProgress } from '../server/follow-run.js'
import { openServer, type Server } from '../server/server.js'
import { describeRun, readRun, requireSuccess, watchRun } from '../server/watch-run.js'

interface Flags extends ServerFlags {
  readonly wait?: boolean
  readonly follow?: boolean
  readonly with?: Wave
  readonly externalRef?: string
  readonly openlineageParent?: string
  readonly idempotencyKey?: string
  readonly output?: Format
}

export function addRun(pipelines: Command): void {
  serverCommand(pipelines, {
    usage: 'run <pipeline>',
    description: 'Request a run. If a run is already requested or in progress, return that run.',
    examples: [
      'pipelines run film_dim',
      'pipelines run film_dim --follow',
      'pipelines run film_dim --with downstream',
      'pipelines run film_dim --wait --external-ref airflow:film_dim:2024-05-01',
    ],
  })
    .option('--wait', 'wait until the run ends; exit code 0 only if it succeeded')
    .option('--follow', 'wait and show progress; Ctrl-C detaches, the run continues')
    .addOption(
      new Option(
        '--with <pipelines>',
        'also run the pipelines that it follows (upstream), those that follow it (downstream), or both (all), in order',
      ).choices(WAVES),
    )
    .option(
      '--openlineage-parent <run>',
      'the run of an orchestrator that requests this one, for OpenLineage: namespace/job/run id',
    )
    .option('--external-ref <text>', 'id of this run in an external orchestrator')
    .option('--idempotency-key <key>', 'the same key within 24 hours returns the same run')
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(run)
}

async function run(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const pipeline = await findPipeline(server, name)
  const requested = await request(server, pipeline.id, flags)
  if (flags.with !== undefined) return runWave(server, requested, flags)
  if (flags.wait || flags.follow)
    return awaitRun(server, { id: requested.run_id, pipelineId: pipeline.id }, flags)
  if (isData(flags)) return printData(requested, flags)
  print(`${pipeline.name}: run ${requested.run_id} requested.`)
  detail(
    `Run "vitrina runs get ${requested.run_id}" to see its status. Use --wait or --follow to wait for its end.`,
  )
}

type Requested = Awaited<ReturnType<typeof request>>

async function runWave(server: Server, requested: Requested, flags: Flags): Promise<void> {
  const runs = requested.runs ?? []
  if (flags.wait || flags.follow) {
    // In the order in which they start. If one fails, those that follow it are held back: waiting would not end.
    for (const { id, pipeline_id } of runs)
      await awaitRun(
        server,
        { id, pipelineId: pipeline_id },
        { follow: flags.follow ?? false, quiet: isData(flags) },
      )
    if (!isData(flags)) return
    const ended = await Promise.all(runs.map(({ id }) => readRun(server, id)))
    return printData({ ...requested, runs: ended }, flags)
  }
  if (isData(flags)) return printData(requested, flags)
  for (const { id, pipeline_name } of runs) print(`${pipeline_name}: run ${id} requested.`)
  detail('Each starts after those that it follows. Run "vitrina runs get <run>" to see what it waits for.')
}

function request(server: Server, id: string, flags: Flags) {
  const { externalRef, openlineageParent, idempotencyKey, with: wave } = flags
  const header = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
  const body = {
    ...(externalRef === undefined ? {} : { external_ref: externalRef }),
    ...(openlineageParent === undefined ? {} : { openlineage_parent: openlineageParent }),
  }
  const query = wave === undefined ? {} : { with: wave }
  return server.ask(server.api.POST('/pipelines/{id}/run', { params: { path: { id }, header, query }, body }))
}

/** Waits until a run ends, prints it, and throws if it did not succeed. */
export async function awaitRun(
  server: Server,
  run: { id: string; pipelineId: string },
  flags: FormatFlags & { follow?: boolean; quiet?: boolean },
): Promise<void> {
  const ended = await untilStopped(async (signal) => {
    const watch = flags.follow ? watchWithProgress(server, run, signal) : watchRun(server, run, { signal })
    return watch.catch((error) => {
      throw signal.aborted ? new Detached(run.id) : error
    })
  })
  if (isData(flags)) printData(await readRun(server, run.id), flags)
  else if (ended.status === 'SUCCESS' && !flags.quiet)
    print(`${good('✓')} ${ended.pipeline_name}: ${describeRun(ended)}, ${duration(ended.duration_ms)}`)
  requireSuccess(ended)
}

/** Detaching does not stop the run. */
class Detached extends Stopped {
  constructor(runId: string) {
    super('Ctrl-C')
    this.message = `Detached; the run continues. Run "vitrina runs get ${runId}" to see its status, "vitrina runs cancel ${runId}" to stop it.`
  }
}

import { type Command, Option } from 'commander'
import { RUN_STATUSES } from '../../model/status.js'
import { readingCommand, wholeNumber } from '../program/command.js'
import { printRuns, type RunFlags, runPageFlags } from '../runs.js'
import { pathOf } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'

export function addPipelineRuns(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'runs <pipeline>',
    description: 'List the runs of a pipeline, newest first.',
    examples: ['pipelines runs film_dim', 'pipelines runs film_dim --status FAILED --limit 5 --json'],
  })
    .addOption(new Option('--status <status>', 'only runs with this status').choices(RUN_STATUSES))
    .option('--limit <n>', 'maximum number of runs', wholeNumber, 20)
    .option('--cursor <cursor>', 'show the page after this cursor')
    .action(async (name: string, flags: RunFlags) => {
      const server = await openServer(flags)
      const params = { ...(await pathOf(server, name)), query: runPageFlags(flags) }
      printRuns(await server.ask(server.api.GET('/pipelines/{id}/runs', { params })), flags)
    })
}

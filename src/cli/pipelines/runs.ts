import type { Command } from 'commander'
import { listCommand } from '../program/list-command.js'
import { RUN_TABLE, statusOption } from '../runs.js'
import type { RunStatus } from '../server/wire.js'

export function addPipelineRuns(pipelines: Command): void {
  listCommand(pipelines, {
    usage: 'runs <pipeline>',
    description: 'List the runs of a pipeline, newest first.',
    examples: ['pipelines runs film_dim', 'pipelines runs film_dim --status FAILED --limit 5 --json'],
    route: '/pipelines/{id}/runs',
    filters: [{ option: statusOption(), query: (status) => ({ status: [status as RunStatus] }) }],
    ...RUN_TABLE,
  })
}

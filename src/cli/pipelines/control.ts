import type { Command } from 'commander'
import { serverCommand } from '../command.js'
import { print, printJson } from '../output.js'
import { cancelRun } from '../runs.js'
import type { ServerFlags } from '../server/connection.js'
import { pathOf } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'

type Flags = ServerFlags & { readonly json?: boolean }

/** What is done by one word. */
export function addControl(pipelines: Command): void {
  addPause(pipelines)
  for (const verb of ['enable', 'disable'] as const) addSwitch(pipelines, verb)
  serverCommand(
    pipelines,
    'cancel <run>',
    'Stop a run after its current batch; the checkpoint is kept. A pipeline stands for its current run.',
    'pipelines cancel film_dim',
    'pipelines cancel 0b6a1f5e-6a0e-4d3f-9a53-0c5d6f7b8a91',
  )
    .option('--json', 'print the run as JSON')
    .action(cancelRun)
}

function addPause(pipelines: Command): void {
  serverCommand(
    pipelines,
    'pause <pipeline>',
    'Ask a running pipeline to pause after its current batch; "run" goes on from there.',
    'pipelines pause film_dim',
  )
    .option('--json', 'print the answer as JSON')
    .action(async (name: string, flags: Flags) => {
      const server = await openServer(flags)
      const params = await pathOf(server, name)
      const answer = await server.ask(server.api.POST('/pipelines/{id}/pause', { params }))
      if (flags.json) printJson(answer)
      else print(`${name} is ${answer.status}.`)
    })
}

function addSwitch(pipelines: Command, verb: 'enable' | 'disable'): void {
  const does =
    verb === 'enable' ? 'Let runners work on a pipeline.' : 'Keep runners from starting a pipeline.'
  serverCommand(pipelines, `${verb} <pipeline>`, does, `pipelines ${verb} film_dim`)
    .option('--json', 'print the pipeline as JSON')
    .action(async (name: string, flags: Flags) => {
      const server = await openServer(flags)
      const params = await pathOf(server, name)
      const answer = await server.ask(server.api.POST(`/pipelines/{id}/${verb}`, { params }))
      if (flags.json) printJson(answer)
      else print(`${answer.name} is ${answer.enabled ? 'enabled' : 'disabled'}.`)
    })
}

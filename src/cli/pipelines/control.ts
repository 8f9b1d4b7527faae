import type { Command } from 'commander'
import { type FormatFlags, formatOption, isData, jsonOption, printData } from '../output/format.js'
import { print } from '../output/print.js'
import { serverCommand } from '../program/command.js'
import { cancelRun, forceOption } from '../runs.js'
import type { ServerFlags } from '../server/connection.js'
import { pipelinePath } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'

type Flags = ServerFlags & FormatFlags

/** Commands that take only the name of a pipeline. */
export function addControl(pipelines: Command): void {
  addPause(pipelines)
  for (const verb of ['enable', 'disable'] as const) addSwitch(pipelines, verb)
  serverCommand(pipelines, {
    usage: 'cancel <run>',
    description:
      'Stop a run after its current batch and keep its checkpoint. The name of a pipeline selects its current run.',
    examples: [
      'pipelines cancel film_dim',
      'pipelines cancel 0b6a1f5e-6a0e-4d3f-9a53-0c5d6f7b8a91',
      'pipelines cancel film_dim --force',
    ],
  })
    .addOption(forceOption())
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(cancelRun)
}

function addPause(pipelines: Command): void {
  serverCommand(pipelines, {
    usage: 'pause <pipeline>',
    description: 'Pause a running pipeline after its current batch; "run" resumes it.',
    examples: ['pipelines pause film_dim'],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(async (name: string, flags: Flags) => {
      const server = await openServer(flags)
      const params = await pipelinePath(server, name)
      const answer = await server.ask(server.api.POST('/pipelines/{id}/pause', { params }))
      if (isData(flags)) printData(answer, flags)
      else print(`${name} is ${answer.status}.`)
    })
}

function addSwitch(pipelines: Command, verb: 'enable' | 'disable'): void {
  const does =
    verb === 'enable' ? 'Allow runners to run a pipeline.' : 'Prevent runners from starting a pipeline.'
  serverCommand(pipelines, {
    usage: `${verb} <pipeline>`,
    description: does,
    examples: [`pipelines ${verb} film_dim`],
  })
    .addOption(formatOption())
    .addOption(jsonOption())
    .action(async (name: string, flags: Flags) => {
      const server = await openServer(flags)
      const params = await pipelinePath(server, name)
      const answer = await server.ask(server.api.POST(`/pipelines/{id}/${verb}`, { params }))
      if (isData(flags)) printData(answer, flags)
      else print(`${answer.name} is ${answer.enabled ? 'enabled' : 'disabled'}.`)
    })
}

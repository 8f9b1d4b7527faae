import type { Command } from 'commander'
import { type FormatFlags, isData, printData } from '../output/format.js'
import { duration, momentText, printFields } from '../output/print-table.js'
import { readingCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { pipelinePath } from '../server/find-pipeline.js'
import { openServer } from '../server/server.js'
import { describeRun } from '../server/watch-run.js'
import type { Freshness, Run, Status } from '../server/wire.js'

type Flags = ServerFlags & FormatFlags

export function addStatus(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'status <pipeline>',
    description: 'Show the status of a pipeline with its current and its last run.',
    examples: ['pipelines status film_dim', 'pipelines status film_dim --json | jq .lag'],
  }).action(status)
  readingCommand(pipelines, {
    usage: 'freshness <pipeline>',
    description: 'Show the age of the data, how old it may become, and why it is too old.',
    examples: ['pipelines freshness film_dim', 'pipelines freshness film_dim --json | jq .cause'],
  }).action(freshness)
  readingCommand(pipelines, {
    usage: 'state <pipeline>',
    description: 'Show the checkpoint of a pipeline.',
    examples: ['pipelines state film_dim'],
  }).action(state)
}

async function status(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const params = await pipelinePath(server, name)
  const answer = await server.ask(server.api.GET('/pipelines/{id}/status', { params }))
  if (isData(flags)) return printData(answer, flags)
  printFields({
    name: answer.name,
    id: answer.id,
    status: answer.status,
    enabled: answer.enabled ? 'yes' : 'no',
    'current run': runLine(answer.current_run),
    'last run': runLine(answer.last_run),
    due: dueLine(answer.due),
    'published with': (answer.group ?? []).filter((one) => one !== answer.name).join(', ') || null,
    'last success':
      answer.lag === null ? 'never' : `${duration(answer.lag.seconds_since_success * 1000)} ago`,
  })
}

async function freshness(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const params = await pipelinePath(server, name)
  const answer = await server.ask(server.api.GET('/pipelines/{id}/freshness', { params }))
  if (isData(flags)) return printData(answer, flags)
  const span = (seconds: number | null) => (seconds === null ? null : duration(seconds * 1000))
  printFields({
    'data as of': answer.data_as_of === null ? 'never loaded' : momentText(answer.data_as_of),
    age: span(answer.age_seconds),
    'may become': span(answer.budget_seconds) ?? 'no limit',
    'needed by': answer.needed_by === null ? null : `${answer.needed_by}, ${span(answer.needed_seconds)}`,
    'next run': answer.due_at === null ? null : momentText(answer.due_at),
    'too old': answer.breached ? 'yes' : 'no',
    cause:
      answer.cause === null ? null : `${answer.cause.code}: ${answer.cause.detail}\n${answer.cause.hint}`,
    ...(answer.held_back === null ? {} : { 'held back': heldBackLine(answer.held_back) }),
  })
}

function heldBackLine({ reason, pid, age_seconds }: NonNullable<Freshness['held_back']>): string {
  const session = pid === null ? '' : ` (session ${pid})`
  return `${reason}${session}${age_seconds === null ? '' : `, open for ${duration(age_seconds * 1000)}`}`
}

async function state(name: string, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  const params = await pipelinePath(server, name)
  const answer = await server.ask(server.api.GET('/pipelines/{id}/state', { params }))
  if (isData(flags)) return printData(answer, flags)
  printFields({ ...answer, updated_at: momentText(answer.updated_at) })
}

function dueLine(due: Status['due']): string | null {
  if (due === null) return null
  const reason =
    due.changed.length === 0 ? 'requested together with others' : `changed: ${due.changed.join(', ')}`
  const waiting = due.waiting === null ? [] : [due.waiting.detail, due.waiting.hint]
  return [`since ${momentText(due.since)}, ${reason}`, ...waiting].join('\n')
}

function runLine(run: Run | null): string | null {
  if (run === null) return null
  const lines = [run.id, describeRun(run)]
  if (run.waiting !== null) lines.push(run.waiting.detail, run.waiting.hint)
  if (run.error !== null) lines.push(`${run.error_code}: ${run.error}`)
  return lines.join('\n')
}

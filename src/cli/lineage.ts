import type { Command } from 'commander'
import { type FormatFlags, isData, printData } from './output/format.js'
import { detail } from './output/print.js'
import { printTable } from './output/print-table.js'
import { inlineText } from './output/terminal-text.js'
import { readingCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { pipelinePath } from './server/find-pipeline.js'
import { openServer, type Server } from './server/server.js'

interface Flags extends ServerFlags, FormatFlags {
  readonly openlineage?: boolean
}

export function addLineage(program: Command): void {
  readingCommand(program, {
    usage: 'lineage [pipeline]',
    description: 'Show what pipelines read and write; for one pipeline, the sources of each column.',
    examples: [
      'lineage',
      'lineage film_dim',
      'lineage film_dim --json | jq ".columns[] | {name, base}"',
      'lineage --openlineage > events.json',
    ],
  })
    .option('--openlineage', 'print OpenLineage events for a data catalog')
    .action(lineage)
}

async function lineage(name: string | undefined, flags: Flags): Promise<void> {
  const server = await openServer(flags)
  if (flags.openlineage === true) return openLineage(server, name)
  return name === undefined ? fleet(server, flags) : ofPipeline(server, name, flags)
}

async function openLineage(server: Server, name: string | undefined): Promise<void> {
  const pipeline = name === undefined ? undefined : (await pipelinePath(server, name)).path.id
  const events = await server.ask(server.api.GET('/lineage/openlineage', { params: { query: { pipeline } } }))
  printData(events, { output: 'json' })
}

async function fleet(server: Server, flags: Flags): Promise<void> {
  const graph = await server.ask(server.api.GET('/lineage'))
  if (isData(flags)) return printData(graph, flags)
  printTable(
    ['pipeline', 'reads', 'fills', 'problem'],
    graph.nodes
      .filter(({ kind }) => kind === 'pipeline')
      .map(({ id, name, error }) => [
        name,
        graph.edges.flatMap(({ from, to }) => (to === id ? [from] : [])).join(', '),
        graph.edges.flatMap(({ from, to }) => (from === id ? [to] : [])).join(', '),
        error === null ? null : `${error.code}: ${error.message}`,
      ]),
    'No pipelines found.',
  )
  printProblems(graph.problems)
}

async function ofPipeline(server: Server, name: string, flags: Flags): Promise<void> {
  const params = await pipelinePath(server, name)
  const answer = await server.ask(server.api.GET('/pipelines/{id}/lineage', { params }))
  if (isData(flags)) return printData(answer, flags)
  printTable(
    ['column', 'how', 'comes from', 'expression'],
    answer.columns.map(({ name: column, kind, sources, base, expression, reason }) => [
      column,
      kind,
      (base ?? sources).map((one) => `${one.node}.${one.column}`).join(', '),
      reason ?? expression,
    ]),
    answer.error?.message ?? answer.open ?? 'The pipeline writes no columns.',
  )
  if (answer.open !== null && answer.error === null)
    detail(inlineText(`There may be more columns: ${answer.open}.`))
  printProblems(answer.problems)
}

function printProblems(problems: readonly { connection: string | null; message: string }[]): void {
  for (const { connection, message } of problems)
    detail(inlineText(`The columns of the database ${connection ?? 'main'} are unknown: ${message}`))
}

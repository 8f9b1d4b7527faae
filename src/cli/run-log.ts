import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { untilStopped } from '../main/shutdown.js'
import { VitrinaError } from '../model/errors.js'
import { isId } from '../model/id.js'
import { type FormatFlags, isData, printData } from './output/format.js'
import { bad, detail, dim, print } from './output/print.js'
import { momentText } from './output/print-table.js'
import { readingCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline } from './server/find-pipeline.js'
import { openServer, type Server } from './server/server.js'
import { readRun, watchRun } from './server/watch-run.js'
import type { LogLine } from './server/wire.js'

interface Flags extends ServerFlags, FormatFlags {
  readonly follow?: boolean
  readonly errors?: boolean
}

/** The largest page of the API. */
const PAGE = 1000
/** Runners write their log a few times a second, also after the end of the run. */
const SETTLE_MS = 1_000

export function addRunLog(runs: Command): void {
  readingCommand(runs, {
    usage: 'log <run>',
    description: 'Show the log of a run, oldest first. The name of a pipeline selects its latest run.',
    examples: [
      'runs log 0b6a1f5e-6a0e-4d3f-9a53-0c5d6f7b8a91',
      'runs log film_dim --follow',
      'runs log film_dim --errors --output ndjson',
    ],
  })
    .option('-f, --follow', 'continue until the run ends; Ctrl-C detaches, the run continues')
    .option('--errors', 'only warnings and errors')
    .action(showLog)
}

async function showLog(runOrPipeline: string, flags: Flags): Promise<void> {
  if (flags.follow && isData(flags) && flags.output !== 'ndjson')
    throw new VitrinaError(
      'USAGE_INVALID',
      `--follow cannot be combined with --output ${flags.output}.`,
      'Use --output ndjson, or remove --follow.',
    )
  const server = await openServer(flags)
  const id = isId(runOrPipeline) ? runOrPipeline : await newestRun(server, runOrPipeline)
  const log = new LogReader(server, id, flags.errors ?? false)
  if (flags.follow) return untilStopped((signal) => follow({ server, id, log, flags }, signal))
  const items = await log.next()
  if (isData(flags)) return printData({ items, next_cursor: null }, flags)
  if (items.length === 0) detail('The log of this run is empty.')
  for (const line of items) printLine(line)
}

interface Following {
  readonly server: Server
  readonly id: string
  readonly log: LogReader
  readonly flags: Flags
}

async function follow({ server, id, log, flags }: Following, signal: AbortSignal): Promise<void> {
  const printNew = async () => {
    const lines = await log.next(signal)
    for (const line of lines) isData(flags) ? printData(line, flags) : printLine(line)
    return lines.length
  }
  const { pipeline_id: pipelineId } = await readRun(server, id, signal)
  // One after another: a request that is slower than the events must not print a line twice.
  let printing: Promise<unknown> = printNew()
  const printMore = () => {
    printing = printing.then(printNew)
    // It is awaited below, where its error is handled.
    printing.catch(() => {})
  }
  const run = await watchRun(server, { id, pipelineId }, { onChange: printMore, signal })
  await printing
  do await delay(SETTLE_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
  while ((await printNew()) > 0)
  detail(`The run ended ${run.status}.`)
}

/** Prints each line once, however often it is called. */
class LogReader {
  readonly #server: Server
  readonly #runId: string
  readonly #errors: boolean
  #after = 0

  constructor(server: Server, runId: string, errors: boolean) {
    this.#server = server
    this.#runId = runId
    this.#errors = errors
  }

  async next(signal?: AbortSignal): Promise<LogLine[]> {
    const lines: LogLine[] = []
    for (;;) {
      const query = { limit: PAGE, after: this.#after, ...(this.#errors ? { errors_only: true } : {}) }
      const params = { path: { id: this.#runId }, query }
      const { items, next_cursor } = await this.#server.ask(
        this.#server.api.GET('/runs/{id}/log', { params, ...(signal ? { signal } : {}) }),
      )
      lines.push(...items)
      this.#after = items.at(-1)?.id ?? this.#after
      if (next_cursor === null) return lines
    }
  }
}

async function newestRun(server: Server, name: string): Promise<string> {
  const { id } = await findPipeline(server, name)
  const query = { limit: 1 }
  const { items } = await server.ask(
    server.api.GET('/pipelines/{id}/runs', { params: { path: { id }, query } }),
  )
  const [newest] = items
  if (newest !== undefined) return newest.id
  throw new VitrinaError(
    'RUN_NOT_FOUND',
    `Pipeline "${name}" has no runs.`,
    `Run "vitrina pipelines run ${name} --follow" to start one.`,
  )
}

function printLine({ at, level, message, fields }: LogLine): void {
  const facts = Object.entries(fields).map(([name, value]) => `${name}=${asWord(value)}`)
  const mark = level === 'info' ? level.padEnd(5) : bad(level.padEnd(5))
  print([dim(momentText(at) ?? ''), mark, message, dim(facts.join(' '))].join('  ').trimEnd())
}

function asWord(value: unknown): string {
  return typeof value === 'string' && /^\S+$/.test(value) ? value : JSON.stringify(value)
}

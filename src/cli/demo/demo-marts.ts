import type { DemoPipeline } from '../../main/demo-data.js'
import type { MainSettings } from '../../main/environment.js'
import { alignTable } from '../output/align-table.js'
import { bad, bold, dim, good, print } from '../output/print.js'
import type { Server } from '../server/server.js'
import type { Reconciliation, Run } from '../server/wire.js'

const FIRST_ROWS = 5
const WIDTH = 96
/** Keeps the columns of every mart together, on a wide terminal and on one of 80 columns. */
const WIDEST_CELL = { wide: 26, narrow: 19 }

/** What is shown about a mart that has just been built. */
export interface MartStory {
  readonly settings: MainSettings
  readonly server: Server
  /** The rows of each table of the cinema. */
  readonly counts: Readonly<Record<string, number>>
  readonly pipeline: DemoPipeline
  readonly run: Run
}

/** Its address, the rows read and written, and its first rows. */
export async function printMart(story: MartStory): Promise<void> {
  const { server, counts, pipeline, run } = story
  const path = { id: pipeline.id }
  // From the database: the pipeline may have been changed since the file was written.
  const now = await server.ask(server.api.GET('/pipelines/{id}', { params: { path } }))
  const { target: mart } = await compare(story, false)
  const read = pipeline.reads.reduce((sum, table) => sum + (counts[table] ?? 0), 0)
  const seconds = ((run.duration_ms ?? 0) / 1000).toFixed(2)
  const summary = `${thousands(read)} source rows → ${thousands(mart.count)} mart rows in ${seconds} s`
  print()
  print(`${bold(now.target_table)}  ${summary}`)
  printWords(now.description)
  if (pipeline.shows.length === 0) await printCheckpoint(story, now.capture)
  else await printFirstRows(story, now.target_table)
}

async function printFirstRows({ settings, pipeline }: MartStory, target: string): Promise<void> {
  // Not at the top: every other command would wait for modules that it does not use.
  const { readMartSample, tallyMart } = await import('../../main/mart-sample.js')
  const first = await readMartSample(settings, { ...pipeline, target, limit: FIRST_ROWS })
  const widest = width() < WIDTH ? WIDEST_CELL.narrow : WIDEST_CELL.wide
  for (const line of alignTable(first.columns, first.rows, { width: width() - 2, widest })) print(`  ${line}`)
  const { tally } = pipeline
  if (tally !== undefined && first.columns.includes(tally))
    printWords((await tallyMart(settings, target, tally)).join(', '))
}

function printWords(text: string): void {
  for (const line of wrap(text, width() - 2)) print(dim(`  ${line}`))
}

function width(): number {
  return Math.min(process.stdout.columns ?? WIDTH, WIDTH)
}

/** An incremental mart holds the same rows as its full counterpart; what differs is where the next run starts. */
async function printCheckpoint({ server, pipeline, run }: MartStory, capture: string): Promise<void> {
  const params = { path: { id: pipeline.id } }
  const { last_processed_key: key } = await server.ask(server.api.GET('/pipelines/{id}/state', { params }))
  print(`  This run read ${thousands(run.rows_read)} rows and wrote ${thousands(run.rows_written)}.`)
  const next: Readonly<Record<string, string>> = {
    xmin: 'The next run reads newer row versions.',
    wal: 'The next run applies the commits that follow, deleted rows included.',
  }
  print(`  ${next[capture] ?? `The next run starts after ${key}.`}`)
}

/** Whether every row of the mart equals what its query returns now. */
export async function verifyMart(story: MartStory): Promise<boolean> {
  const { target, missing, extra, different, on_their_way } = await compare(story, true)
  const wrong = (missing?.count ?? 0) + (different?.count ?? 0) + (on_their_way ?? 0)
  const tooMany = extra?.count ?? 0
  const name = story.pipeline.target
  if (wrong + tooMany === 0) print(`${good('✓')} ${name} matches: ${target.count} rows`)
  else print(`${bad('✗')} ${name} differs: ${wrong} rows missing or different, ${tooMany} extra rows`)
  return wrong + tooMany === 0
}

function compare({ server, pipeline }: MartStory, deep: boolean): Promise<Reconciliation> {
  const params = { path: { id: pipeline.id }, query: { deep } }
  return server.ask(server.api.GET('/pipelines/{id}/reconcile', { params, ...server.withoutTimeout }))
}

function thousands(count: number): string {
  return count.toLocaleString('en')
}

function wrap(text: string, width: number): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines
}

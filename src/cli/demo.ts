import type { Command } from 'commander'
import { withMainDatabase } from '../main/database.js'
import { addDemoPipelines, loadCinema } from '../main/demo-data.js'
import { type MainSettings, readEnvironment } from '../main/environment.js'
import { demoPipelines, readMart } from '../main/marts.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { withPassingToken } from '../main/token.js'
import { type Tree, withTree } from '../main/tree.js'
import { verifyMart } from '../main/verify.js'
import { printBanner } from './banner.js'
import { command } from './command.js'
import { type EndedRun, followRun } from './follow-run.js'
import { bad, bold, detail, good, print, step } from './output.js'
import { prepareAndTell } from './prepare.js'
import { connectTo } from './server/server.js'
import { alignTable } from './table.js'

const FIRST_ROWS = 5
const WIDTH = 120

export function addDemo(program: Command): void {
  command(
    program,
    'demo',
    'Start everything with a sample cinema and build its marts before your eyes.',
    'demo',
    'demo --once',
  )
    .option('--once', 'compare every mart with its source, then stop; exit code 1 when one differs')
    .action(({ once = false }: { once?: boolean }) => untilStopped((signal) => showDemo(once, signal)))
}

async function showDemo(once: boolean, signal: AbortSignal): Promise<void> {
  const given = readEnvironment()
  await withMainDatabase(given, { signal, onProgress: step, embedded: 'own' }, async (settings) => {
    await prepareDemo(settings)
    step('Starting API and runner')
    // The story is told here; the parts speak up only when something is wrong, unless somebody wants to hear more.
    const logLevel = process.env.LOG_LEVEL ? settings.LOG_LEVEL : 'warn'
    await withTree(once ? withPassingToken(settings) : settings, { signal, logLevel }, async (tree) => {
      await buildMarts(settings, tree, signal)
      if (once) return verifyMarts(settings)
      await printBanner(tree, settings, given.DATABASE_URL === undefined)
      await aborted(signal)
      step('Stopping')
    })
  })
}

async function prepareDemo(settings: MainSettings): Promise<void> {
  step('Loading the sample cinema, where there is none yet')
  const counts = await loadCinema(settings)
  detail(
    `${counts['content.film_work']} films, ${counts['content.person']} people, ${counts['ugc.ratings']} ratings, ${counts['ugc.views']} views`,
  )
  // After the sample: only what is there can be granted.
  await prepareAndTell(settings)
  const added = await addDemoPipelines(settings)
  if (added.length > 0) detail(`Added the pipelines ${added.join(', ')}.`)
}

async function buildMarts(settings: MainSettings, tree: Tree, signal: AbortSignal): Promise<void> {
  const server = connectTo({ url: tree.url, token: tree.token.token })
  step(`Asking the API at ${tree.url} for a run of every pipeline, and waiting for the runner`)
  const requests = demoPipelines().map(async ({ id, name }) => ({
    id,
    run: await followRun(server, { id, name }, signal),
  }))
  for (const { id, run } of await Promise.all(requests)) await printMart(settings, id, run)
}

async function printMart(settings: MainSettings, pipelineId: string, run: EndedRun): Promise<void> {
  const mart = await readMart(settings, pipelineId, FIRST_ROWS)
  print()
  print(
    `${bold(mart.target)}  ${mart.sourceRows} source rows → ${mart.martRows} mart rows in ${((run.duration_ms ?? 0) / 1000).toFixed(2)} s`,
  )
  for (const line of alignTable(mart.columns, mart.firstRows, (process.stdout.columns ?? WIDTH) - 2))
    print(`  ${line}`)
}

async function verifyMarts(settings: MainSettings): Promise<void> {
  print()
  step('Comparing every mart with its source, value by value')
  for (const { id } of demoPipelines()) {
    const { target, martRows, missing, extra } = await verifyMart(settings, id)
    const matches = missing === 0 && extra === 0
    if (!matches) process.exitCode = 1
    print(
      matches
        ? `${good('✓')} ${target} matches: ${martRows} rows`
        : `${bad('✗')} ${target} differs: ${missing} rows missing or different, ${extra} rows too many`,
    )
  }
}

import type { Command } from 'commander'
import { withMainDatabase } from '../main/database.js'
import type { DemoPipeline } from '../main/demo-data.js'
import { demoTaskFolders } from '../main/demo-tasks.js'
import { type MainSettings, readEnvironment } from '../main/environment.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { withPassingToken } from '../main/token.js'
import { type Tree, withTree } from '../main/tree.js'
import { printBanner } from './banner.js'
import { command } from './command.js'
import { type MartStory, printMart, verifyMart } from './demo-marts.js'
import { followRun } from './follow-run.js'
import { detail, print, step } from './output.js'
import { prepareAndTell } from './prepare.js'
import { connectTo, type Server } from './server/server.js'

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
  await withMainDatabase(given, { signal, onProgress: step, embedded: 'own' }, async (settings, database) => {
    const prepared = await prepareDemo(settings)
    step('Starting API and runner')
    // The story is told here; the parts speak up only when something is wrong, unless somebody wants to hear more.
    const logLevel = process.env.LOG_LEVEL ? settings.LOG_LEVEL : 'warn'
    const env = { VITRINA_PYTHON_TASKS: demoTaskFolders(settings) }
    const options = { signal, logLevel, env, database, report: step }
    await withTree(once ? withPassingToken(settings) : settings, options, async (tree) => {
      const marts = await buildMarts(settings, prepared, tree, signal)
      if (once) return verifyMarts(marts)
      await printBanner(tree, settings, given.DATABASE_URL === undefined)
      await aborted(signal)
      step('Stopping')
    })
  })
}

type Prepared = Pick<MartStory, 'counts'> & { readonly pipelines: readonly DemoPipeline[] }

async function prepareDemo(settings: MainSettings): Promise<Prepared> {
  // Not at the top: every other command would wait for modules that it does not use.
  const { addDemoPipelines, loadCinema, readDemoPipelines } = await import('../main/demo-data.js')
  step('Loading the sample cinema, where there is none yet')
  const counts = await loadCinema(settings)
  detail(
    `${counts['content.film_work']} films, ${counts['content.person']} people, ${counts['ugc.ratings']} ratings, ${counts['ugc.views']} views`,
  )
  // After the sample: only what is there can be granted.
  await prepareAndTell(settings)
  const all = await readDemoPipelines()
  const pipelines = settings.environment.ELASTICSEARCH_URL
    ? all
    : all.filter(({ target }) => !isIndex(target))
  const added = await addDemoPipelines(settings, pipelines)
  if (added.length > 0) detail(`Added ${added.length} pipelines from examples/cinema.`)
  if (pipelines.length < all.length) tellOfElasticsearch(all)
  return { counts, pipelines }
}

function tellOfElasticsearch(all: readonly DemoPipeline[]): void {
  const indexes = all.flatMap(({ target }) => (isIndex(target) ? [target] : []))
  detail(`Left out ${indexes.join(' and ')}: there is no Elasticsearch.`)
  detail('Set ELASTICSEARCH_URL, for example to http://localhost:9200, to fill them too.')
}

function isIndex(target: string): boolean {
  return target.includes(':')
}

async function buildMarts(
  settings: MainSettings,
  { counts, pipelines }: Prepared,
  tree: Tree,
  signal: AbortSignal,
): Promise<MartStory[]> {
  const server = connectTo({ url: tree.url, token: tree.token.token })
  const runnable = await thoseThatCanRun(server, pipelines)
  step(`Asking the API at ${tree.url} for ${runnable.length} runs, and waiting for the runner`)
  const stories = runnable.map(async (pipeline) => {
    const run = await followRun(server, pipeline, signal)
    return { settings, server, counts, pipeline, run }
  })
  const built = await Promise.all(stories)
  for (const story of built) await printMart(story)
  return built
}

/** A machine without Python still has all the other marts. */
async function thoseThatCanRun(
  server: Server,
  pipelines: readonly DemoPipeline[],
): Promise<readonly DemoPipeline[]> {
  const { items, problems } = await server.ask(server.api.GET('/tasks'))
  const known = new Set(items.map(({ name }) => name))
  return pipelines.filter(({ name, transforms }) => {
    const missing = transforms.find((one) => !known.has(one))
    if (missing === undefined) return true
    detail(`Left out ${name}: ${problems[0]?.message ?? `"${missing}" is not registered`}.`)
    detail('It needs Python 3.9 or newer; VITRINA_PYTHON says which.')
    return false
  })
}

async function verifyMarts(marts: readonly MartStory[]): Promise<void> {
  print()
  step('Comparing every mart with its source, value by value')
  for (const mart of marts) if (!(await verifyMart(mart))) process.exitCode = 1
}

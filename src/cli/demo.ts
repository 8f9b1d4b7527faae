import type { Command } from 'commander'
import type { Settings } from '../config/settings.js'
import { withPassingToken } from '../main/api-token.js'
import { withMainDatabase } from '../main/database.js'
import type { DemoPipeline } from '../main/demo-data.js'
import { demoTaskFolders } from '../main/demo-tasks.js'
import { type MainSettings, readEnvironment } from '../main/environment.js'
import { withTree } from '../main/process-tree.js'
import { aborted, untilStopped } from '../main/shutdown.js'
import { VitrinaError } from '../model/errors.js'
import { type MartStory, printMart, verifyMart } from './demo/demo-marts.js'
import { waitForStand } from './demo/wait-for-stand.js'
import { detail, print, step } from './output/print.js'
import { printBanner } from './processes/banner.js'
import { prepareAndReport } from './processes/prepare.js'
import { command } from './program/command.js'
import { followRun } from './server/follow-run.js'
import { connectTo, openServer, type Server } from './server/server.js'

interface DemoFlags {
  readonly once?: boolean
  readonly attach?: string
}

export function addDemo(program: Command): void {
  command(program, {
    usage: 'demo',
    description: 'Start everything with sample data and build its marts.',
    examples: ['demo', 'demo --once', 'demo --attach http://127.0.0.1:8080'],
  })
    .option('--once', 'compare every mart with its source, then stop; exit code 1 if one differs')
    .option(
      '--attach <url>',
      'like --once, but with the API and the runners at this address instead of new ones',
    )
    .action((flags: DemoFlags) => untilStopped((signal) => showDemo(flags, signal)))
}

function showDemo({ once = false, attach }: DemoFlags, signal: AbortSignal): Promise<void> {
  return attach === undefined ? showOwn(once, signal) : showAttached(attach, signal)
}

async function showOwn(once: boolean, signal: AbortSignal): Promise<void> {
  const given = readEnvironment()
  await withMainDatabase(given, { signal, onProgress: step, embedded: 'own' }, async (settings, database) => {
    const prepared = await prepareDemo(settings)
    step('Starting API and runner')
    // This command reports progress itself, so the parts log only warnings, unless LOG_LEVEL asks for more.
    const logLevel = process.env.LOG_LEVEL ? settings.LOG_LEVEL : 'warn'
    const env = { VITRINA_PYTHON_TASKS: demoTaskFolders(settings) }
    const options = { signal, logLevel, env, database, report: step }
    await withTree(once ? withPassingToken(settings) : settings, options, async (tree) => {
      const server = connectTo({ url: tree.url, token: tree.token.token })
      const marts = await buildMarts(prepared, server, signal)
      if (once) return verifyMarts(marts)
      await printBanner(tree, settings, given.DATABASE_URL === undefined)
      await aborted(signal)
      step('Stopping')
    })
  })
}

/** On a running installation. A runner of our own would take work from its runners, with other settings. */
async function showAttached(url: string, signal: AbortSignal): Promise<void> {
  const settings = readEnvironment()
  const server = await openServer({ url })
  const prepared = await prepareDemo(requireDatabase(settings))
  await waitForStand(server, signal)
  await verifyMarts(await buildMarts(prepared, server, signal))
}

function requireDatabase(settings: Settings): MainSettings {
  const { DATABASE_URL } = settings
  if (DATABASE_URL !== undefined) return { ...settings, DATABASE_URL }
  throw new VitrinaError(
    'SETTING_INVALID',
    'DATABASE_URL is not set.',
    "Set it to the administrator's connection of the database that the API at --attach uses.",
  )
}

type PreparedDemo = Pick<MartStory, 'counts' | 'settings'> & { readonly pipelines: readonly DemoPipeline[] }

async function prepareDemo(settings: MainSettings): Promise<PreparedDemo> {
  // Not at the top: every other command would wait for modules that it does not use.
  const { addDemoPipelines, loadDemoSample, readDemoPipelines } = await import('../main/demo-data.js')
  step('Loading the sample data if it is missing')
  const counts = await loadDemoSample(settings)
  detail(
    `${counts['content.film_work']} films, ${counts['content.person']} people, ${counts['ugc.ratings']} ratings, ${counts['ugc.views']} views`,
  )
  // After loading the sample: only existing tables can be granted.
  await prepareAndReport(settings)
  const all = await readDemoPipelines()
  const pipelines = settings.environment.ELASTICSEARCH_URL
    ? all
    : all.filter(({ target }) => !isIndex(target))
  const added = await addDemoPipelines(settings, pipelines)
  if (added.length > 0) detail(`Added ${added.length} pipelines from examples/cinema.`)
  await publishSample(settings, pipelines)
  if (pipelines.length < all.length) reportSkipped(all)
  return { settings, counts, pipelines }
}

/** The demo created the tables of the sample, so it may publish them. */
async function publishSample(settings: MainSettings, pipelines: readonly DemoPipeline[]): Promise<void> {
  if (!pipelines.some(({ fields }) => fields.capture === 'wal')) return
  const { applySource } = await import('../main/source-plan.js')
  await applySource(settings, {
    connection: 'main',
    ownerUrl: null,
    identity: true,
    signal: AbortSignal.timeout(60_000),
    onStatement: (statement) => detail(`Ran ${statement}`),
  })
}

function reportSkipped(all: readonly DemoPipeline[]): void {
  const indexes = all.flatMap(({ target }) => (isIndex(target) ? [target] : []))
  detail(`Skipped ${indexes.join(' and ')}: no Elasticsearch is configured.`)
  detail('Set ELASTICSEARCH_URL, for example to http://localhost:9200, to fill them too.')
}

function isIndex(target: string): boolean {
  return target.includes(':')
}

async function buildMarts(
  { settings, counts, pipelines }: PreparedDemo,
  server: Server,
  signal: AbortSignal,
): Promise<MartStory[]> {
  const runnable = await thoseThatCanRun(server, pipelines)
  step(`Requesting ${runnable.length} runs from the API at ${server.url} and waiting for the runner`)
  const stories = runnable.map(async (pipeline) => {
    const run = await followRun(server, pipeline, signal)
    return { settings, server, counts, pipeline, run }
  })
  const built = await Promise.all(stories)
  for (const story of built) await printMart(story)
  return built
}

/** A machine without Python still gets all other marts. */
async function thoseThatCanRun(
  server: Server,
  pipelines: readonly DemoPipeline[],
): Promise<readonly DemoPipeline[]> {
  const { items, problems } = await server.ask(server.api.GET('/tasks'))
  const known = new Set(items.map(({ name }) => name))
  return pipelines.filter(({ name, transforms }) => {
    const missing = transforms.find((one) => !known.has(one))
    if (missing === undefined) return true
    detail(`Skipped ${name}: ${problems[0]?.message ?? `"${missing}" is not registered`}.`)
    detail('It needs Python 3.9 or newer; VITRINA_PYTHON sets the interpreter.')
    return false
  })
}

async function verifyMarts(marts: readonly MartStory[]): Promise<void> {
  print()
  step('Comparing every mart with its source, value by value')
  for (const mart of marts) if (!(await verifyMart(mart))) process.exitCode = 1
}

import { otherPostgres } from './postgres-versions.mjs'
import { say, seconds } from './run.mjs'
import { clickhouse } from './tools/clickhouse.mjs'
import { debian } from './tools/debian.mjs'
import { elasticsearch } from './tools/elasticsearch.mjs'
import { python } from './tools/python.mjs'

const PROGRESS_MS = 10_000
/** Carries why something could not be installed to the tests that are skipped for it. */
const FAILURES = 'VITRINA_TEST_TOOL_FAILURES'
const TOOLS = { elasticsearch, clickhouse, python, otherPostgres }

/** For tests: what the tool consists of, or `{ missing }` with the reason. Never installs anything. */
export async function findTool(key) {
  const found = await TOOLS[key].find()
  if (!('missing' in found)) return found
  const failure = JSON.parse(process.env[FAILURES] ?? '{}')[key]
  const reason = failure === undefined ? found.missing : `it could not be installed: ${failure}`
  return { missing: `${TOOLS[key].name}: ${reason} ("npm run test:tools" installs it)` }
}

/**
 * Installs once, before the first test, what tests need and npm does not bring. Returns the environment for the tests.
 * A tool that cannot be installed is not an error: its tests are skipped and say why.
 */
export async function installTestTools() {
  const since = performance.now()
  const working = new Set()
  const progress = setInterval(() => {
    if (working.size > 0) say(`  … still installing ${[...working].join(', ')}, ${seconds(since)}`)
  }, PROGRESS_MS)
  const failures = {}
  try {
    const { packages = [] } = await debian.find()
    const installed = ensure('debian', debian, { working, failures })
    const start = async ([key, tool]) => {
      if (tool.needs.some((name) => packages.includes(name))) await installed
      await ensure(key, tool, { working, failures })
    }
    await Promise.all([installed, ...Object.entries(TOOLS).map(start)])
  } finally {
    clearInterval(progress)
  }
  return Object.keys(failures).length === 0 ? {} : { [FAILURES]: JSON.stringify(failures) }
}

async function ensure(key, tool, { working, failures }) {
  const found = await tool.find().catch((error) => ({ missing: error.message }))
  if (!('missing' in found)) return
  const name = found.packages ? `${tool.name} ${found.packages.join(' ')}` : tool.name
  const since = performance.now()
  say(`• Installing ${name} for the tests`)
  working.add(tool.name)
  try {
    await tool.install()
    say(`  ${tool.name} installed in ${seconds(since)}`)
  } catch (error) {
    failures[key] = error.message
    say(`  ${tool.name} could not be installed: ${error.message}. The tests that need it are skipped.`)
  } finally {
    working.delete(tool.name)
  }
}

import { ensureBuilt } from './lib/build.mjs'
import { check } from './lib/check.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { allServers, postgresBin, VERSION_SUITES } from './lib/postgres-versions.mjs'
import { failure, main, say, seconds } from './lib/run.mjs'
import { installTestTools } from './lib/test-tools.mjs'
import { closeWith, runSuite } from './lib/vitest.mjs'

/** Run one after another: a name, the files for vitest (none: all), and the environment that makes it different. */
const SUITES = [
  { name: 'everything', files: [], env: { VITRINA_TEST_LONG: '1' } },
  ...allServers()
    .filter((server) => server !== '18')
    .map((server) => ({
      name: `postgres-${server.startsWith('/') ? 'debian' : server}`,
      files: VERSION_SUITES,
      env: { VITRINA_TEST_LONG: '1', VITRINA_TEST_POSTGRES: server },
    })),
]

/**
 * What takes too long for `npm test`: every case of the matrices from which `npm test` takes a sample, on the embedded
 * server and on every other supported PostgreSQL.
 *   npm run test:long                              all suites
 *   npm run test:long -- --suite postgres-14       one of them; "everything" is the embedded server
 *   npm run test:long -- tests/crash               these files in each suite; flags go to vitest
 */
endWithNpm()
await main(async () => {
  const { suites, rest } = parse(process.argv.slice(2))
  const tools = installTestTools()
  await ensureInstalled()
  await ensureBuilt()
  // Downloads first: a run must not stop half-way because the network is down.
  for (const { env } of suites) if (env.VITRINA_TEST_POSTGRES) await postgresBin(env.VITRINA_TEST_POSTGRES)
  const before = [await check()]
  const env = { ...process.env, ...(await tools) }
  const results = []
  for (const [index, suite] of suites.entries())
    results.push(await runNamed(suite, rest, { before: index === 0 ? before : [], env }))
  return closeWith(results)
})

async function runNamed({ name, files, env: own }, rest, { before, env }) {
  const since = performance.now()
  say(`\n• Suite "${name}"`)
  const given = rest.some((arg) => !arg.startsWith('-')) ? rest : [...files, ...rest]
  const result = await runSuite(given, { before, env: { ...env, ...own } })
  say(
    `${result.ok ? '✓' : '✗'} Suite "${name}": ${result.passed} passed, ${result.failed} failed in ${seconds(since)}`,
  )
  return result
}

function parse(args) {
  const at = args.indexOf('--suite')
  if (at < 0) return { suites: SUITES, rest: args }
  const suites = SUITES.filter(({ name }) => name === args[at + 1])
  if (suites.length === 0)
    throw failure(
      `There is no suite "${args[at + 1] ?? ''}".`,
      `Choose one of: ${SUITES.map(({ name }) => name).join(', ')}.`,
    )
  return { suites, rest: [...args.slice(0, at), ...args.slice(at + 2)] }
}

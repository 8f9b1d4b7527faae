import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { allServers, postgresBin, SUPPORTED, VERSION_SUITES } from './lib/postgres-versions.mjs'
import { failure, main, say, seconds } from './lib/run.mjs'
import { runTests } from './lib/vitest.mjs'

/**
 * Runs the suites against other versions of PostgreSQL than the embedded one.
 *   npm run test:postgres                                  every supported version, and Debian's 15 where installed
 *   npm run test:postgres -- --versions 14,/opt/pg/bin     these servers
 *   npm run test:postgres -- --versions 14 tests/crash     these files or folders only; other flags go to vitest
 */
endWithNpm()
await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  const { servers, rest } = parse(process.argv.slice(2))
  // Downloads first: a run must not stop half-way because the network is down.
  for (const server of servers) await postgresBin(server)
  const suites = rest.some((arg) => !arg.startsWith('-')) ? rest : [...VERSION_SUITES, ...rest]
  const failed = []
  for (const server of servers) if (!(await passes(server, suites))) failed.push(server)
  say(
    failed.length === 0
      ? `✓ PostgreSQL ${servers.join(', ')}`
      : `✗ Failed on PostgreSQL ${failed.join(', ')}`,
  )
  return failed.length === 0 ? 0 : 1
})

async function passes(server, suites) {
  const since = performance.now()
  say(`\n• PostgreSQL ${server}`)
  const code = await runTests(suites, { env: { ...process.env, VITRINA_TEST_POSTGRES: server } })
  say(`  PostgreSQL ${server}: ${code === 0 ? 'passed' : 'failed'} in ${seconds(since)}`)
  return code === 0
}

function parse(args) {
  const at = args.indexOf('--versions')
  if (at < 0) return { servers: allServers(), rest: args }
  const servers = (args[at + 1] ?? '').split(',').filter(Boolean)
  if (servers.length === 0)
    throw failure('--versions needs a value.', `For example: --versions ${SUPPORTED.join(',')}`)
  return { servers, rest: [...args.slice(0, at), ...args.slice(at + 2)] }
}

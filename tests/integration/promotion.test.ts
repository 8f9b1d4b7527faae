import { expect, it, onTestFinished } from 'vitest'
import { Session } from '../../src/postgres/session.js'
import { canSweepFrom, sweepStart } from '../../src/sources/postgres/changes.js'
import { makeMemoryFolder } from '../support/memory-folder.js'
import { removePostgres, startPostgres } from '../support/postgres-server.js'
import { findPostgresTools, runTool } from '../support/postgres-tools.js'
import { withClient } from '../support/server.js'
import { waitFor } from '../support/wait.js'

const found = findPostgresTools()

async function aHome(): Promise<string> {
  const { path: home } = makeMemoryFolder('vitrina-promotion')
  onTestFinished(() => removePostgres(home))
  return home
}

async function aServer(home: string, settings: Record<string, string> = {}): Promise<string> {
  const bin = 'path' in found ? found.path : null
  const server = await startPostgres({ home, bin, settings })
  onTestFinished(() => server.stop())
  return server.url
}

async function sessionTo(url: string): Promise<Session> {
  const session = await Session.open(url, 'vitrina-test', new AbortController().signal)
  onTestFinished(() => session.close())
  return session
}

it('transaction numbers are invalid after a promotion, even before the first checkpoint', async ({
  skip,
}) => {
  if ('missing' in found) return skip(found.missing)
  const primary = new URL(await aServer(await aHome()))
  const home = await aHome()
  const connection = `host=127.0.0.1 port=${primary.port} user=${primary.username}`
  await runTool(
    home,
    ({ dataDir }) => ['pg_basebackup', '-D', dataDir, '-d', connection, '-R', '-X', 'stream', '-c', 'fast'],
    { PGPASSWORD: decodeURIComponent(primary.password) },
  )
  // Pages that were changed since: the checkpoint after the promotion writes them slowly, spread over an hour.
  const standby = await aServer(home, {
    hot_standby: 'on',
    checkpoint_timeout: '1h',
    bgwriter_lru_maxpages: '0',
    primary_conninfo: `${connection} password=${decodeURIComponent(primary.password)}`,
  })
  await withClient(primary.href, (client) =>
    client.query('CREATE TABLE pages AS SELECT repeat(i::text, 500) AS v FROM generate_series(1, 20000) i'),
  )
  await waitFor(
    () => withClient(standby, async (client) => (await client.query('SELECT FROM pages LIMIT 1')).rowCount),
    { what: 'the standby to have the pages' },
  )
  const before = await sessionTo(standby)
  const noted = await sweepStart(before)
  expect(noted.system).toMatch(/\/1$/)
  expect(await canSweepFrom(before, noted)).toBe(true)
  await withClient(standby, (client) => client.query('SELECT pg_promote()'))
  await waitFor(
    () =>
      withClient(standby, async (client) => {
        const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
        return !rows[0]!.standby
      }),
    { what: 'the promotion' },
  )
  const after = await sessionTo(standby)
  // The control file still has the old timeline: this is the moment in which it must not be believed.
  expect(await after.rows('SELECT timeline_id::text AS old FROM pg_control_checkpoint()')).toEqual([
    { old: '1' },
  ])
  expect((await sweepStart(after)).system).toMatch(/\/2$/)
  expect(await canSweepFrom(after, noted)).toBe(false)
})

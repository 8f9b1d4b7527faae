import { describe, expect, it, onTestFinished } from 'vitest'
import { Session } from '../../src/postgres/session.js'
import type { TargetTable } from '../../src/sinks/postgres/target.js'
import type { Column } from '../../src/sql/selection.js'
import { Relay } from '../../src/transfers/routes/relay.js'
import { aDatabase, type TestDatabase } from '../support/database.js'

async function aSession(database: TestDatabase): Promise<Session> {
  const session = await Session.open(database.url, 'test-relay', new AbortController().signal)
  onTestFinished(() => session.close())
  return session
}

const column = (name: string, type: string, typeOid: number): Column => ({
  name,
  type,
  typeOid,
  base: null,
  notNull: false,
})

describe('a relay', () => {
  it('keeps the order of the rows that it collects, whatever their size: checkpoints depend on it', async () => {
    const [source, target] = [await aSession(await aDatabase()), await aSession(await aDatabase())]
    const columns = [column('id', 'integer', 23), column('name', 'text', 25)]
    const relay = new Relay({ source, target, table: {} as TargetTable, columns })
    const sizes = "repeat('x', (power(abs(hashint4(n) % 1000) / 1000.0, 3) * 1900)::int)"
    const selection = `SELECT n AS id, ${sizes} AS name FROM generate_series(1, 30000) AS n ORDER BY n`
    expect(await relay.collect(selection, 'vitrina_pass', columns)).toBe(30_000)
    const backwards = await target.rows(
      'SELECT FROM (SELECT id, lag(id) OVER (ORDER BY ctid) AS before FROM pg_temp.vitrina_pass) AS pairs WHERE id < before',
    )
    expect(backwards).toEqual([])
  })

  it('leaves both sessions usable when the target rejects a row with much data in transit', async () => {
    const [source, target] = [await aSession(await aDatabase()), await aSession(await aDatabase())]
    await target.run('CREATE TABLE public.mart (id integer PRIMARY KEY, name text, CHECK (id <> 17))')
    const bytes = source.copyOut(
      "COPY (SELECT n, repeat('x', 2000) FROM generate_series(1, 20000) AS n) TO STDOUT",
    )
    await expect(target.copyIn('COPY public.mart FROM STDIN', bytes)).rejects.toMatchObject({ code: '23514' })
    expect(await source.rows('SELECT 1 AS one')).toEqual([{ one: '1' }])
    expect(await target.rows('SELECT count(*) AS n FROM public.mart')).toEqual([{ n: '0' }])
  })

  it('leaves the target usable when the source fails in transit', async () => {
    const [source, target] = [await aSession(await aDatabase()), await aSession(await aDatabase())]
    await target.run('CREATE TABLE public.mart (id integer, name text)')
    const bytes = source.copyOut(
      "COPY (SELECT 1 / (15000 - n), repeat('x', 2000) FROM generate_series(1, 20000) AS n) TO STDOUT",
    )
    await expect(target.copyIn('COPY public.mart FROM STDIN', bytes)).rejects.toMatchObject({ code: '22012' })
    expect(await target.rows('SELECT count(*) AS n FROM public.mart')).toEqual([{ n: '0' }])
  })

  it.each(['source', 'target'])(
    'fails when the session of the %s is terminated in transit, and does not hang',
    async (side) => {
      const databases = { source: await aDatabase(), target: await aDatabase() }
      const [source, target] = [await aSession(databases.source), await aSession(databases.target)]
      await target.run('CREATE TABLE public.mart (id integer, name text)')
      const bytes = source.copyOut(
        "COPY (SELECT n, repeat('x', 2000) FROM generate_series(1, 200000) AS n) TO STDOUT",
      )
      const copied = target.copyIn('COPY public.mart FROM STDIN', bytes)
      const ended = databases[side as 'source' | 'target'].query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test-relay' AND datname = current_database()",
      )
      await expect(copied).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      await ended
    },
  )
})

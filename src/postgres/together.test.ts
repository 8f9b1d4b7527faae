import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { Session } from './session.js'

let session: Session

beforeEach(async () => {
  const database = await aDatabase({ migrated: false })
  session = await Session.open(database.url, 'vitrina-test', new AbortController().signal)
})
afterEach(() => session.close())

const n = (value: number) => session.rows(`SELECT ${value}::text AS n`)

describe('statements that are sent together', () => {
  it('are answered in their order', async () => {
    const answers = await session.together(() => Promise.all([n(1), session.run('SELECT 2'), n(3)]))
    expect(answers).toEqual([[{ n: '1' }], undefined, [{ n: '3' }]])
  })

  it('fail one by one outside a transaction, and the session can be used after that', async () => {
    const wrong = session.together(() => Promise.all([n(1), session.rows('SELECT 1 / 0'), n(3)]))
    await expect(wrong).rejects.toMatchObject({ code: '22012' })
    expect(await n(4)).toEqual([{ n: '4' }])
  })

  it('do nothing in a transaction in which an earlier one has failed', async () => {
    await session.run('CREATE TABLE public.t (id int)')
    await session.run('BEGIN')
    const written = session.together(() =>
      Promise.all([session.rows('SELECT 1 / 0'), session.count('INSERT INTO public.t VALUES (1)')]),
    )
    await expect(written).rejects.toMatchObject({ code: '22012' })
    await session.run('COMMIT')
    expect(await session.rows('SELECT id::text FROM public.t')).toEqual([])
  })

  it('wait for COPY, and COPY for them', async () => {
    const copied = session.copyOut('COPY (SELECT generate_series(1, 3)) TO STDOUT')
    expect((await copied.toArray()).join('')).toBe('1\n2\n3\n')
    expect(await session.together(() => Promise.all([n(1), n(2)]))).toEqual([[{ n: '1' }], [{ n: '2' }]])
    expect((await session.copyOut('COPY (SELECT 4) TO STDOUT').toArray()).join('')).toBe('4\n')
  })
})

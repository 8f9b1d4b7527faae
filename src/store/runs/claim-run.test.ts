import { beforeEach, describe, expect, it } from 'vitest'
import { aQueue, LEASE, type Queue } from '../../../tests/support/queue.js'
import type { Capacity, Claim, RunnerInfo } from '../../model/claim.js'
import { entriesOf, type TagSlots } from '../../model/tag-slots.js'
import { Database } from '../database.js'
import { RunQueueRepository } from './run-queue.repository.js'

let on: Queue
beforeEach(async () => {
  on = await aQueue()
})

const claim = (capacity: Partial<Capacity> = {}): Promise<Claim | null> =>
  on.queue.claim('first', LEASE, { free: null, limits: {}, ...capacity })

async function requests(count: number, tags: readonly string[]): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) ids.push(await on.aRequest({ tags }))
  return ids
}

/** The first tags of the next claims, each finished before the next. */
async function served(count: number): Promise<(string | undefined)[]> {
  const order: (string | undefined)[] = []
  for (let n = 0; n < count; n++) {
    const next = await claim()
    if (next === null) break
    order.push(next.pipeline.tags[0])
    await on.queue.finish(next, { status: 'SUCCESS' })
  }
  return order
}

const runner = (id: string, tags: TagSlots | null, limits: Record<string, number> = {}): RunnerInfo => ({
  ...{ id, host: 'here', pid: 1, version: '1', concurrency: 4 },
  ...{ tags, connectionLimits: limits },
})

async function waiting(id: string): Promise<unknown> {
  const [row] = await on.database.query<{ why: unknown }>('SELECT etl.why_waiting($1) AS why', [id])
  return row!.why
}

describe('claiming by tag', () => {
  it('claims only what the runner has a free slot for', async () => {
    const [heavy] = await requests(1, ['heavy'])
    const [plain] = await requests(1, [])
    expect((await claim({ free: { heavy: 0, '*': 1 } }))?.pipeline.id).toBe(plain)
    expect(await claim({ free: { heavy: 0, '*': 1 } })).toBeNull()
    expect(await claim({ free: { reports: 1 } })).toBeNull()
    expect((await claim({ free: { heavy: 1 } }))?.pipeline.id).toBe(heavy)
  })

  it('takes over a dead holder only with a slot for its tags', async () => {
    await requests(1, ['heavy'])
    const first = await claim()
    await on.expireLease(first!)
    expect(await claim({ free: { '*': 4, heavy: 0 } })).toBeNull()
    expect(await claim({ free: { heavy: 1 } })).toMatchObject({ runId: first!.runId, recovered: true })
  })

  it.each<[TagSlots, string[]]>([
    [{ '*': 1 }, []],
    [{ '*': 0 }, []],
    [{ '*': 1 }, ['heavy']],
    [{ heavy: 1 }, []],
    [{ heavy: 1 }, ['heavy', 'other']],
    [{ heavy: 0, '*': 1 }, ['heavy']],
    [{ heavy: 0, reports: 1 }, ['heavy', 'reports']],
    [{ heavy: 1, reports: 1 }, ['heavy', 'reports']],
    [{ heavy: 1, '*': 0 }, ['other']],
  ])('runner and database agree whether %j takes %j', async (slots, tags) => {
    const [row] = await on.database.query<{ takes: boolean }>('SELECT etl.runner_takes($1, $2) AS takes', [
      JSON.stringify(slots),
      tags,
    ])
    expect(row!.takes).toBe(entriesOf(slots, tags).length > 0)
  })

  it.each([[['Heavy']], [['a b']], [['']], [['a', 'a']], [[null]], [['x'.repeat(41)]]])(
    'the database rejects the tags %j',
    async (tags) => {
      await expect(on.aRequest({ tags: tags as string[] })).rejects.toThrow(/etl_pipelines_tags_check/)
    },
  )
})

describe('fair claims', () => {
  it('claims from queues in turn, however many runs one of them has', async () => {
    await requests(6, ['a'])
    await requests(2, ['b'])
    await requests(2, [])
    expect(await served(10)).toEqual(['a', 'b', undefined, 'a', 'b', undefined, 'a', 'a', 'a', 'a'])
  })

  it('prefers the queue with the fewest runs in progress', async () => {
    await requests(4, ['long'])
    const held = [await claim(), await claim()]
    expect(held.map((one) => one?.pipeline.tags[0])).toEqual(['long', 'long'])
    await requests(2, ['short'])
    // Two runs of "long" are in progress: both of "short" are next.
    expect([(await claim())?.pipeline.tags, (await claim())?.pipeline.tags]).toEqual([['short'], ['short']])
  })

  it('claims the oldest request of a queue first, whatever its other tags and its connections', async () => {
    const ids = [
      await on.aRequest({ tags: ['a', 'z'] }),
      await on.aRequest({ tags: ['a'] }),
      await on.aRequest({ tags: ['a'], sourceConnection: 'other' }),
    ]
    const order = [await claim(), await claim(), await claim()]
    expect(order.map((one) => one?.pipeline.id)).toEqual(ids)
  })

  it('reaches every queue when there are more of them than one claim examines', async () => {
    for (let n = 0; n < 150; n++) await requests(1, [`tag-${String(n).padStart(3, '0')}`])
    const order = await served(150)
    expect(new Set(order).size).toBe(150)
  }, 60_000)
})

describe('limits of connections', () => {
  it('counts runs that read from a connection or write to it, over all runners', async () => {
    await on.aRequest({ sourceConnection: 'crm' })
    await on.aRequest({ targetConnection: 'crm' })
    await on.aRequest({ sourceConnection: 'CRM' })
    const limits = { crm: 2 }
    const held = [await claim({ limits }), await on.queue.claim('second', LEASE, { free: null, limits })]
    expect(held.every((one) => one !== null)).toBe(true)
    expect(await claim({ limits })).toBeNull()
    await on.queue.finish(held[0]!, { status: 'SUCCESS' })
    expect(await claim({ limits })).not.toBeNull()
  })

  it('claims runs on other connections before those that wait', async () => {
    await on.aRequest({ sourceConnection: 'crm', targetConnection: 'dwh' })
    await on.aRequest({ sourceConnection: 'crm', targetConnection: 'dwh' })
    const other = await on.aRequest({ sourceConnection: 'erp', targetConnection: 'dwh' })
    await claim({ limits: { crm: 1 } })
    expect((await claim({ limits: { crm: 1 } }))?.pipeline.id).toBe(other)
  })

  it('does not count a sink as the main database', async () => {
    await on.aRequest({ sourceConnection: 'crm', targetTable: 'es:films' })
    await on.aRequest({ sourceConnection: 'crm', targetTable: 'es:genres' })
    await claim({ limits: { main: 1 } })
    expect(await claim({ limits: { main: 1 } })).not.toBeNull()
  })

  it('is never exceeded by runners that claim at the same moment', async () => {
    for (let n = 0; n < 12; n++) await on.aRequest({ sourceConnection: 'crm', targetConnection: 'dwh' })
    const pools = Array.from({ length: 4 }, () => {
      return new Database(on.database.loginUrl('writer'), { name: 'vitrina-runner', size: 3 })
    })
    try {
      const limits = { crm: 5 }
      const claims = await Promise.all(
        Array.from({ length: 24 }, (_, n) =>
          new RunQueueRepository(pools[n % 4]!).claim(`runner-${n}`, LEASE, { free: null, limits }),
        ),
      )
      expect(claims.filter((one) => one !== null)).toHaveLength(5)
    } finally {
      await Promise.all(pools.map((pool) => pool.close()))
    }
  })

  it('does not keep a run of a dead holder from being taken over', async () => {
    await on.aRequest({ sourceConnection: 'crm' })
    const first = await claim({ limits: { crm: 1 } })
    await on.expireLease(first!)
    expect(await claim({ limits: { crm: 1 } })).toMatchObject({ runId: first!.runId, recovered: true })
  })
})

describe('why a run waits', () => {
  it('names a missing runner, tags that no runner takes, and a connection at its limit', async () => {
    const id = await on.aRequest({ tags: ['heavy'], sourceConnection: 'crm' })
    expect(await waiting(id)).toEqual({ code: 'NO_RUNNER' })
    await on.registry.heartbeat(runner('one', { '*': 4, heavy: 0 }, { crm: 1 }))
    expect(await waiting(id)).toEqual({ code: 'NO_RUNNER_FOR_TAGS', tags: ['heavy'] })
    await on.registry.heartbeat(runner('two', { heavy: 1 }))
    expect(await waiting(id)).toBeNull()
    const held = await claim()
    const next = await on.aRequest({ tags: ['heavy'], sourceConnection: 'crm' })
    const limit = { code: 'CONNECTION_LIMIT', connection: 'crm', runs: 1, limit: 1 }
    expect([await waiting(next), await waiting(held!.pipeline.id)]).toEqual([limit, null])
  })

  it('a runner that stopped does not count', async () => {
    const id = await on.aRequest()
    await on.registry.heartbeat(runner('one', null))
    expect(await waiting(id)).toBeNull()
    await on.registry.gone('one')
    expect(await waiting(id)).toEqual({ code: 'NO_RUNNER' })
  })

  it('a stalled run is marked once, and not before a runner had time to start', async () => {
    const id = await on.aRequest({ tags: ['heavy'] })
    await on.aRequest()
    await on.registry.heartbeat(runner('one', { '*': 4, heavy: 0 }))
    expect(await on.registry.markStalled()).toEqual([])
    await on.database.query("UPDATE etl.etl_pipelines SET requested_at = requested_at - interval '1 minute'")
    expect(await on.registry.markStalled()).toMatchObject([{ pipelineId: id, tags: ['heavy'] }])
    expect(await on.registry.markStalled()).toEqual([])
    const events = await on.database.query("SELECT data FROM etl.etl_events WHERE kind = 'run.stalled'")
    expect(events).toEqual([{ data: { tags: ['heavy'] } }])
    const taken = await claim({ free: { heavy: 1 } })
    expect(await on.runOf(taken!)).toMatchObject({ stalled_since: null })
  })
})

describe('etl.runner_demand', () => {
  const demand = async (argument?: string): Promise<number> => {
    const text = argument === undefined ? 'etl.runner_demand()' : 'etl.runner_demand($1)'
    const [row] = await on.database.query<{ n: number }>(
      `SELECT ${text} AS n`,
      argument === undefined ? [] : [argument],
    )
    return row!.n
  }

  it('counts queued runs and runs in progress, of all pipelines, of a tag, or of a list of slots', async () => {
    expect(await demand()).toBe(0)
    await requests(2, ['heavy'])
    await requests(3, ['reports', 'heavy'])
    await requests(1, [])
    await on.aRequest({ enabled: false })
    await claim()
    expect(await demand()).toBe(6)
    expect([await demand('heavy'), await demand('reports'), await demand('other')]).toEqual([5, 3, 0])
    expect([await demand('heavy:0,*:4'), await demand('heavy:2'), await demand(' *:4 ')]).toEqual([1, 5, 6])
  })

  it('counts open parts of runs in progress', async () => {
    await requests(1, ['heavy'])
    const held = await claim()
    await on.database.query(
      `INSERT INTO etl.etl_run_parts (run_id, part, status) VALUES ($1, 1, 'DONE'), ($1, 2, 'RUNNING'), ($1, 3, 'PENDING')`,
      [held!.runId],
    )
    expect([await demand(), await demand('heavy'), await demand('other')]).toEqual([3, 3, 0])
  })

  it('needs nothing but access to the schema', async () => {
    await requests(2, [])
    await on.database.query('GRANT USAGE ON SCHEMA etl TO vitrina_reader')
    const scaler = new Database(on.database.loginUrl('reader'), { name: 'scaler', size: 1 })
    try {
      expect(await scaler.query('SELECT etl.runner_demand() AS n')).toEqual([{ n: 2 }])
      await expect(scaler.query('SELECT FROM etl.etl_pipelines')).rejects.toThrow(/permission denied/)
    } finally {
      await scaler.close()
    }
  })
})

import { beforeEach, describe, expect, it } from 'vitest'
import { aPipeline, type PipelineOverrides } from '../../tests/support/builders.js'
import { aQueue, LEASE, type Queue } from '../../tests/support/queue.js'
import type { Claim, RunEnd } from '../model/claim.js'

let on: Queue
let ids: Map<string, string>
beforeEach(async () => {
  on = await aQueue()
  ids = new Map()
})

const SUCCESS: RunEnd = { status: 'SUCCESS' }
const idOf = (name: string): string => ids.get(name)!

/** `b: ['content.x']` reads content.x. */
async function pipelines(
  all: Record<string, readonly string[]>,
  overrides: Record<string, PipelineOverrides> = {},
) {
  for (const [name, reads] of Object.entries(all)) {
    const { id } = await aPipeline(on.database, {
      ...{ name, targetTable: `analytics.${name}`, consistency: 'group' },
      ...overrides[name],
    })
    ids.set(name, id)
    const parts = reads.map((table) => table.split('.'))
    await on.database.query('SELECT etl.note_reads($1, ARRAY[$4], $2, $3, true)', [
      ...[id, parts.map(([schema]) => schema), parts.map(([, table]) => table)],
      overrides[name]?.sourceConnection ?? null,
    ])
  }
}

/** The members of each group, in the order in which they are computed. */
async function groups(): Promise<string[]> {
  const rows = await on.database.query<{ names: string }>(
    `SELECT string_agg(p.name, ' ' ORDER BY g.place, p.name) AS names FROM etl.etl_pipeline_groups g
       JOIN etl.etl_pipelines p ON p.id = g.pipeline_id GROUP BY g.head_id ORDER BY 1`,
  )
  return rows.map(({ names }) => names)
}

const set = (name: string, assignment: string) =>
  on.database.query(`UPDATE etl.etl_pipelines SET ${assignment} WHERE name = $1`, [name])
const request = (name: string) => on.setStatus(idOf(name), 'RUN_REQUESTED')
const claim = () => on.queue.claim('r', LEASE)
const namesOf = (one: Claim | null) => (one?.group ?? []).map(({ pipeline }) => pipeline.name)

async function requested(): Promise<string[]> {
  await on.dueRuns.requestDue()
  const rows = await on.database.query<{ name: string }>(
    "SELECT name FROM etl.etl_pipelines WHERE status = 'RUN_REQUESTED' ORDER BY name",
  )
  return rows.map(({ name }) => name)
}

async function runTogether(name: string, how: RunEnd = SUCCESS): Promise<Claim> {
  await request(name)
  await requested()
  const held = (await claim())!
  await on.queue.finishGroup(held.group!.map((one) => ({ claim: one, end: how })))
  return held
}

const statuses = async () =>
  Object.fromEntries(
    (
      await on.database.query<{ name: string; status: string }>('SELECT name, status FROM etl.etl_pipelines')
    ).map(({ name, status }) => [name, status]),
  )

describe('a group', () => {
  it('is what reads a common table or follows each other, upstreams first', async () => {
    await pipelines({
      ...{ a: ['content.x'], b: ['content.x', 'content.y'], c: ['content.y'] },
      ...{ d: ['analytics.c'], alone: ['content.z'], other: ['content.v'], another: ['content.v'] },
    })
    expect(await groups()).toEqual(['a b c d', 'another other'])
  })

  it('is connected by names in after', async () => {
    await pipelines({ a: ['content.x'], b: ['content.y'] }, { b: { after: ['a'] } })
    expect(await groups()).toEqual(['a b'])
    await set('b', "after = '{}'")
    expect(await groups()).toEqual([])
  })

  it('includes neither disabled pipelines nor those with consistency none or a target elsewhere', async () => {
    await pipelines(
      { a: ['content.x'], b: ['content.x'], c: ['content.x'], d: ['content.x'], e: ['content.x'] },
      { c: { consistency: 'none' }, d: { targetConnection: 'warehouse' }, e: { enabled: false } },
    )
    expect(await groups()).toEqual(['a b'])
    await set('e', 'enabled = true')
    await set('c', "consistency = 'group'")
    expect(await groups()).toEqual(['a b c e'])
    await set('b', 'enabled = false')
    expect(await groups()).toEqual(['a c e'])
    await on.database.query("DELETE FROM etl.etl_pipelines WHERE name IN ('a', 'c')")
    expect(await groups()).toEqual([])
  })

  it('does not include what reads a member over another connection: it could not see the new rows', async () => {
    await pipelines({ a: ['content.x'], b: ['content.x'] })
    const { id } = await aPipeline(on.database, {
      ...{ name: 'c', targetTable: 'analytics.c', consistency: 'group', sourceConnection: 'same' },
    })
    await on.database.query(
      "SELECT etl.note_reads($1, ARRAY[NULL, 'same'], ARRAY['analytics', 'content'], ARRAY['a', 'x'], true)",
      [id],
    )
    expect(await groups()).toEqual(['a b'])
    await set('c', 'source_connection = NULL')
    expect(await groups()).toEqual(['a b c'])
  })
})

describe('the runs of a group', () => {
  beforeEach(() => pipelines({ a: ['content.x'], b: ['analytics.a', 'content.x'], c: ['content.x'] }))

  it('are requested together, whichever of them is requested, and claimed by one runner', async () => {
    for (const name of ['a', 'b', 'c']) {
      await request(name)
      // Not before all of them are queued.
      expect(await claim()).toBeNull()
      expect(await requested()).toEqual(['a', 'b', 'c'])
      const held = (await claim())!
      expect(namesOf(held)).toEqual(['a', 'c', 'b'])
      expect(await claim()).toBeNull()
      const runs = await on.database.query(
        "SELECT DISTINCT group_run FROM etl.etl_runs WHERE status = 'RUNNING'",
      )
      expect(runs).toEqual([{ group_run: held.runId }])
      await on.queue.finishGroup(held.group!.map((one) => ({ claim: one, end: SUCCESS })))
    }
  })

  it('are all ended or none: not if one is no longer held', async () => {
    await request('a')
    await requested()
    const held = (await claim())!
    await on.database.query('UPDATE etl.etl_pipelines SET fence = fence + 1 WHERE name = $1', ['c'])
    const ends = held.group!.map((one) => ({ claim: one, end: SUCCESS }))
    await expect(on.queue.finishGroup(ends)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await statuses()).toEqual({ a: 'RUNNING', b: 'RUNNING', c: 'RUNNING' })
  })

  it('are all ended or none: not if rows are to be repaired that an earlier run has left', async () => {
    const earlier = await runTogether('a', { status: 'PAUSED' })
    const repair = 'INSERT INTO etl.etl_repairs (run_id, key) VALUES ($1, $2)'
    await on.database.query(repair, [earlier.group!.at(-1)!.runId, ['7']])
    for (const name of ['a', 'b', 'c']) await request(name)
    const held = (await claim())!
    const ends = held.group!.map((one) => ({ claim: one, end: SUCCESS }))
    expect(await on.queue.finishGroup(ends)).toBeNull()
    expect(await statuses()).toEqual({ a: 'RUNNING', b: 'RUNNING', c: 'RUNNING' })
    await on.database.query('UPDATE etl.etl_repairs SET repaired_at = now()')
    expect(await on.queue.finishGroup(ends)).toHaveLength(3)
    expect(await statuses()).toEqual({ a: 'IDLE', b: 'IDLE', c: 'IDLE' })
  })

  it('mark what follows the group, and not each other', async () => {
    await pipelines({ d: ['analytics.a', 'analytics.c'] }, { d: { consistency: 'none' } })
    await request('b')
    await requested()
    const held = (await claim())!
    await on.database.query("UPDATE etl.etl_runs SET rows_written = 1 WHERE status = 'RUNNING'")
    await on.queue.finishGroup(held.group!.map((one) => ({ claim: one, end: SUCCESS })))
    expect(await requested()).toEqual(['d'])
  })

  it('wait for what any of them waits for', async () => {
    await pipelines(
      { u: ['content.u'], v: ['content.v'] },
      { u: { consistency: 'none' }, v: { consistency: 'none' } },
    )
    await on.database.query("UPDATE etl.etl_pipelines SET after = '{u}' WHERE name = 'a'")
    await on.database.query("UPDATE etl.etl_pipelines SET after = '{v}' WHERE name = 'c'")
    await request('u')
    const upstream = (await claim())!
    await on.database.query('SELECT etl.mark_followers($1, now())', [idOf('v')])
    expect(await requested()).toEqual([])
    await on.queue.finish(upstream, SUCCESS)
    expect(await requested()).toEqual(['a', 'b', 'c'])
  })

  it('are taken over together, although their leases end one after the other', async () => {
    await request('a')
    await requested()
    const held = (await claim())!
    await on.expireLease(held)
    const next = (await on.queue.claim('second', LEASE))!
    expect(namesOf(next)).toEqual(['a', 'c', 'b'])
    expect(next.group!.map(({ recovered, previousOwner }) => [recovered, previousOwner])).toEqual(
      Array.from({ length: 3 }, () => [true, 'r']),
    )
    // A member whose lease ends first waits for the head.
    const mate = next.group!.find((one) => one.runId !== next.runId)!
    await on.expireLease(mate)
    expect(await on.queue.claim('third', LEASE)).toBeNull()
  })

  it('are handed back together', async () => {
    await request('a')
    await requested()
    const held = (await claim())!
    expect(await on.queue.release(held.group!, { end: 'given_back' })).toEqual([true, true, true])
    expect(namesOf(await claim())).toEqual(['a', 'c', 'b'])
  })

  it('are left to the next claim while a session holds one of them, and others are claimed meanwhile', async () => {
    await pipelines({ z: ['content.z'] })
    await request('a')
    await requested()
    await request('z')
    const session = await on.database.client()
    await session.query("BEGIN; SELECT FROM etl.etl_pipelines WHERE name = 'c' FOR UPDATE")
    expect((await claim())?.pipeline.name).toBe('z')
    expect(await claim()).toBeNull()
    await session.query('ROLLBACK')
    expect(namesOf(await claim())).toEqual(['a', 'c', 'b'])
  })

  it('are paused as a whole', async () => {
    await request('a')
    await requested()
    const held = (await claim())!
    await set('b', "status = 'PAUSE_REQUESTED'")
    await on.queue.finishGroup(held.group!.map((one) => ({ claim: one, end: { status: 'PAUSED' } })))
    expect(await statuses()).toEqual({ a: 'PAUSED', b: 'PAUSED', c: 'PAUSED' })
    await runTogether('c')
    expect(await statuses()).toEqual({ a: 'IDLE', b: 'IDLE', c: 'IDLE' })
  })

  it('of a wave are planned for all members', async () => {
    const planned = await on.database.query<{ name: string }>(
      "SELECT p.name FROM etl.plan_wave($1, 'all') w JOIN etl.etl_pipelines p ON p.id = w.pipeline_id ORDER BY 1",
      [idOf('c')],
    )
    expect(planned.map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect(await requested()).toEqual(['a', 'b', 'c'])
    expect(await on.database.query('SELECT FROM etl.etl_runs')).toHaveLength(3)
  })

  it('wait for a member that runs by itself, because it joined the group meanwhile', async () => {
    await pipelines({ late: ['content.late'] })
    await request('late')
    const late = (await claim())!
    expect(late.group).toBeNull()
    await on.database.query(
      "SELECT etl.note_reads($1, ARRAY[NULL], ARRAY['content', 'content'], ARRAY['late', 'x'], true)",
      [idOf('late')],
    )
    await request('a')
    expect(await requested()).toEqual(['a', 'b', 'c'])
    expect(await claim()).toBeNull()
    await on.queue.finish(late, SUCCESS)
    await requested()
    expect(namesOf(await claim())).toEqual(['a', 'c', 'late', 'b'])
  })
})

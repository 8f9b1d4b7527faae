import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase, type TestDatabase } from '../../../tests/support/database.js'
import { type Claim, sessionName } from '../../model/claim.js'
import { NO_ROWS } from '../../model/run.js'
import { Database } from '../database.js'
import { RunQueueRepository } from './run-queue.repository.js'

let database: TestDatabase
let queue: RunQueueRepository

beforeEach(async () => {
  database = await aDatabase()
  const pool = new Database(database.loginUrl('writer'), { name: 'vitrina-runner', size: 4 })
  onTestFinished(() => pool.close())
  queue = new RunQueueRepository(pool)
})

async function aClaim(): Promise<Claim> {
  const { id } = await aPipeline(database)
  await database.query("UPDATE etl.etl_pipelines SET status = 'RUN_REQUESTED' WHERE id = $1", [id])
  return (await queue.claim('first', 30))!
}

async function expireLease(): Promise<void> {
  await database.query("UPDATE etl.etl_pipelines SET lease_until = clock_timestamp() - interval '1 ms'")
}

async function theRun() {
  return (await database.query('SELECT to_jsonb(r) AS run FROM etl.etl_runs r'))[0]
}

const aBatch = {
  batch: 1,
  step: 'full',
  rows: NO_ROWS,
  firstKey: null,
  lastKey: null,
  durationMs: 1,
  phases: { readMs: null, transformMs: null, writeMs: 1, checkpointMs: 0 },
  copiedCheckpoint: null,
}

describe('R3.2 a holder that was replaced', () => {
  it('writes nothing to the history of the run', async () => {
    const old = await aClaim()
    await expireLease()
    await queue.claim('second', 30)
    const before = await theRun()
    const late = [
      () => queue.planned(old, { strategy: 'sql_full', way: 'relay', guarantee: 'bounded' }),
      () => queue.measured(old, { heldBack: { reason: 'late', pid: null, since: null }, cost: null }),
      () => queue.retrying(old, 7, { message: 'late', code: 'late', hint: 'late' }),
    ]
    for (const call of late) await expect(call()).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await queue.release([old], { end: 'given_back' })).toEqual([false])
    expect(await theRun()).toEqual(before)
  })

  it('is terminated when it holds the row of its pipeline in an idle transaction', async () => {
    const old = await aClaim()
    const frozen = await database.client(database.loginUrl('writer'))
    await frozen.query(`SET application_name = '${sessionName(old)}'`)
    await expireLease()
    await frozen.query('BEGIN')
    await frozen.query('UPDATE etl.etl_pipelines SET lease_until = lease_until WHERE id = $1', [
      old.pipeline.id,
    ])
    expect(await queue.claim('second', 30)).toMatchObject({
      fence: 2,
      recovered: true,
      previousOwner: 'first',
    })
  })
})

describe('R3.7 a run that was handed back', () => {
  it('can no longer be renewed or written by its previous holder', async () => {
    const claim = await aClaim()
    expect(await queue.release([claim], { end: 'given_back' })).toEqual([true])
    await expect(queue.renew(claim, 30)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    const progress = { rows: NO_ROWS, batches: 1 }
    await expect(
      queue.record(claim, aBatch, { progress, leaseSeconds: 30, session: null }),
    ).rejects.toMatchObject({
      code: 'LEASE_LOST',
    })
    expect(await queue.claim('second', 30)).toMatchObject({ recovered: true, deaths: 0 })
  })
})

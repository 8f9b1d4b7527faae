import { expect, it } from 'vitest'
import { aRunner } from '../support/runner.js'
import { requestRun, runEnded } from '../support/runs.js'
import { inTurn } from '../support/sample.js'
import { elasticsearchMarts } from '../support/sink-servers.js'
import { SinkMart, sinkPartsSuite, struck } from './sink-parts.js'

for (const write_mode of inTurn(['update', 'index'], 0))
  sinkPartsSuite({
    name: `Elasticsearch, write_mode ${write_mode}`,
    place: 0,
    start: () => elasticsearchMarts(write_mode),
  })

/** The server does not know which of them is late. */
it('in write_mode update a successor waits for the leases of parts that others may still be writing', async (context) => {
  const server = await elasticsearchMarts('update')
  if ('missing' in server) return context.skip(server.missing)
  const mart = await SinkMart.create(server, 'upsert')
  const runId = await requestRun(mart.main, mart.id)
  const owner = mart.runner({ VITRINA_FAILPOINT: 'part.claimed@1=freeze', RUNNER_LEASE_SECONDS: '4' })
  await struck(owner, 'freeze')
  const helper = mart.runner({ VITRINA_FAILPOINT: 'part.sent@1=freeze', RUNNER_LEASE_SECONDS: '12' })
  await struck(helper, 'freeze')
  const [held] = await mart.main.query<{ part: number; lease_until: string }>(
    "SELECT part, lease_until::text FROM etl.etl_run_parts WHERE status = 'RUNNING' ORDER BY lease_until DESC LIMIT 1",
  )
  owner.kill('SIGKILL')
  const runner = await aRunner(mart.main, { env: { ...server.env, RUNNER_POLL_INTERVAL_MS: '50' } })
  expect(await runEnded(mart.main, runId)).toMatchObject({ status: 'SUCCESS', parts_done: 4 })
  const [again] = await mart.main.query<{ waited: boolean }>(
    'SELECT started_at >= $2::timestamptz AS waited FROM etl.etl_run_parts WHERE run_id = $3 AND part = $1',
    [held!.part, held!.lease_until, runId],
  )
  expect(again).toEqual({ waited: true })
  await mart.expectEqual()
  await runner.stop()
})

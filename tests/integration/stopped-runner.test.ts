import { expect, it } from 'vitest'
import { Signals } from '../../src/capture/signals.js'
import { readSettings } from '../../src/config/settings.js'
import { SqlGuard } from '../../src/guard/index.js'
import { PipelineDispatcher } from '../../src/runner/dispatcher.js'
import { PipelineExecutor } from '../../src/runner/executor.js'
import { PartWorker } from '../../src/runner/part-worker.js'
import { Database } from '../../src/store/database.js'
import { PartQueueRepository } from '../../src/store/runs/part-queue.repository.js'
import { RunQueueRepository } from '../../src/store/runs/run-queue.repository.js'
import { Events } from '../../src/telemetry/events.js'
import { createLog } from '../../src/telemetry/log.js'
import { createMeter } from '../../src/telemetry/meter.js'
import { Transfers } from '../../src/transfers/transfers.js'
import { createTransforms } from '../../src/transforms/index.js'
import { aPipeline } from '../support/builders.js'
import { aDatabase, type TestDatabase } from '../support/database.js'
import { requestRun, runById } from '../support/runs.js'
import { anEngine } from '../support/spark-engine.js'
import { waitFor } from '../support/wait.js'

/** What startRunner wires, without the manager: this test decides when the time is over. */
function aDispatcher(main: TestDatabase) {
  const lines: Record<string, unknown>[] = []
  const log = createLog({
    service: 'runner',
    version: 'test',
    level: 'debug',
    format: 'json',
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  })
  const database = new Database(main.loginUrl('writer'), { name: 'vitrina-runner', size: 4 })
  const queue = new RunQueueRepository(database)
  const transfers = new Transfers({
    signals: new Signals(main.loginUrl('writer')),
    readerUrl: main.loginUrl('reader'),
    writerUrl: main.loginUrl('writer'),
    connections: new Map(),
    targets: { tables: ['analytics.*'], kinds: [] },
    transforms: createTransforms(readSettings({ VITRINA_PYTHON_TASKS: '/nowhere' })),
    rules: { guard: new SqlGuard({ sourceSchemas: ['content'] }), sourceSchemas: ['content'] },
  })
  const events = new Events(log, createMeter({ version: 'test' }))
  const reconciler = { prove: () => Promise.reject(new Error('nothing is repaired here')) }
  const parts = new PartQueueRepository(database)
  const shared = { queue, transfers, events, leaseSeconds: 30 }
  const worker = new PartWorker({ runnerId: 'stopped', parts, connectionLimits: {}, ...shared })
  const all = { parts, worker, engine: anEngine(), reconciler, ...shared }
  const dispatcher = new PipelineDispatcher(all, new PipelineExecutor(all))
  return { dispatcher, queue, lines, close: () => database.close() }
}

it('a runner that is cut off while it stops hands the run back, and reports no lost connection', async () => {
  const main = await aDatabase({ cinema: true })
  const { dispatcher, queue, lines, close } = aDispatcher(main)
  await main.query('CREATE TABLE analytics.locked (film_id uuid PRIMARY KEY, title text)')
  await main.query('GRANT ALL ON analytics.locked TO vitrina_writer')
  const { id } = await aPipeline(main, {
    sourceQuery: 'SELECT id AS film_id, title FROM content.film_work',
    targetTable: 'analytics.locked',
  })
  const runId = await requestRun(main, id)
  const blocker = await main.client()
  await blocker.query('BEGIN')
  await blocker.query('LOCK TABLE analytics.locked IN EXCLUSIVE MODE')
  const claim = await queue.claim('one', 30)
  const ended = dispatcher.dispatch(claim!)
  await waitFor(
    () =>
      main
        .query(
          "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        )
        .then(([row]) => row ?? null),
    { what: 'the batch to wait for the lock' },
  )
  dispatcher.stop()
  dispatcher.cut()
  await ended
  await blocker.query('ROLLBACK')

  const messages = lines.map(({ message, msg }) => message ?? msg)
  expect(messages).not.toContainEqual(expect.stringMatching(/Connection to/))
  expect(lines).toContainEqual(
    expect.objectContaining({ msg: 'Run handed back unfinished.', reason: 'The runner is stopping.' }),
  )
  expect(JSON.stringify(lines)).not.toContain('DATABASE_UNAVAILABLE')
  expect(await runById(main, runId)).toMatchObject({ status: 'RUNNING', error: null })
  // Another runner claims it at once, and does not count a death.
  expect(await queue.claim('two', 30)).toMatchObject({ runId, recovered: true, deaths: 0 })
  await close()
})

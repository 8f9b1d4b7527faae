import { describe, expect, it } from 'vitest'
import type { Claim } from '../model/claim.js'
import { VitrinaError } from '../model/errors.js'
import type { Pipeline } from '../model/pipeline.js'
import { NO_ROWS } from '../model/run.js'
import { Events } from './events.js'
import { createLog } from './log.js'
import { createMeter } from './meter.js'

const claim: Claim = {
  pipeline: { id: 'p1', name: 'film_dim' } as Pipeline,
  runId: 'r1',
  fence: 7,
  attempt: 1,
  recovered: false,
  deaths: 0,
  previousOwner: null,
  previousEnd: null,
  trigger: 'api',
  traceparent: null,
  waitedMs: 0,
  group: null,
  control: { pause: false, cancel: false, batchSize: null },
}
const about = { pipeline: 'film_dim', pipeline_id: 'p1', run_id: 'r1' }
const rows = { ...NO_ROWS, read: 5, inserted: 3, updated: 1, unchanged: 1 }
const progress = { rows, batches: 1 }

function observed() {
  const lines: Record<string, unknown>[] = []
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) }
  const meter = createMeter({ version: '1' })
  const events = new Events(
    createLog({ service: 'runner', version: '1', level: 'debug', format: 'json', destination }),
    meter,
  )
  return { events, lines, meter }
}

describe('Events', () => {
  it('logs a batch with its pipeline, run, rows and time, and counts it', async () => {
    const { events, lines, meter } = observed()
    const batch = {
      batch: 3,
      step: 'write',
      rows,
      firstKey: 'a',
      lastKey: 'b',
      durationMs: 120.4,
      phases: { readMs: null, transformMs: null, writeMs: 120, checkpointMs: 0.4 },
      copiedCheckpoint: null,
    }
    events.batchDone(claim, batch, { progress, phases: [{ name: 'write', from: 10, to: 90 }] })
    expect(lines[0]).toMatchObject({
      ...about,
      level: 'info',
      msg: 'Batch 3 done.',
      batch: 3,
      rows: 5,
      rows_written: 4,
      duration_ms: 120,
    })
    expect(await meter.text()).toContain('vitrina_rows_total{pipeline="film_dim",stage="inserted"} 3')
    // Keys are values of rows, which do not belong in logs.
    expect(lines[0]).not.toHaveProperty('first_key')
  })

  it('logs how a run ended, and a failed one as an error with its code and hint', async () => {
    const { events, lines, meter } = observed()
    events.runEnded(claim, { status: 'SUCCESS' }, { ...progress, durationMs: 1500 })
    const end = { status: 'FAILED', error: 'no', code: 'KEY_NULL', hint: 'fill it' } as const
    events.runEnded(claim, end, { ...progress, durationMs: 10 })
    expect(lines[0]).toMatchObject({
      ...about,
      level: 'info',
      msg: 'Run succeeded.',
      duration_ms: 1500,
      rows: 5,
    })
    expect(lines[1]).toMatchObject({ ...about, level: 'error', code: 'KEY_NULL', err: 'no', hint: 'fill it' })
    expect(await meter.text()).toContain('vitrina_runs_total{pipeline="film_dim",status="FAILED"} 1')
  })

  it('logs a retry with its SQLSTATE', async () => {
    const { events, lines, meter } = observed()
    const error = new VitrinaError('DATABASE_ERROR', 'deadlock', 'wait', { sqlstate: '40P01' })
    events.retrying({ ...claim, attempt: 2 }, 1000, error)
    expect(lines[0]).toMatchObject({
      ...about,
      level: 'warn',
      attempt: 1,
      next_attempt: 2,
      wait_ms: 1000,
      code: 'DATABASE_ERROR',
      sqlstate: '40P01',
    })
    expect(await meter.text()).toContain('vitrina_retries_total{pipeline="film_dim",code="DATABASE_ERROR"} 1')
  })

  it('distinguishes a run that was taken over from one that starts, and counts the wait of a start', async () => {
    const { events, lines, meter } = observed()
    events.runStarted(claim, 250)
    const recovered = {
      recovered: true,
      previousOwner: 'old',
      previousEnd: 'runner_died',
      deaths: 1,
    } as const
    events.runStarted({ ...claim, ...recovered })
    expect(lines[0]).toMatchObject({ ...about, msg: 'Run started.', waited_ms: 250 })
    expect(lines[1]).toMatchObject({
      ...about,
      msg: 'Run resumed.',
      previous_owner: 'old',
      previous_end: 'runner_died',
      deaths: 1,
    })
    expect(await meter.text()).toContain('vitrina_queue_wait_seconds_count 1')
  })

  it('logs how many runs were recovered, and nothing when none was', () => {
    const { events, lines } = observed()
    events.recovered(0)
    events.recovered(1)
    expect(lines).toMatchObject([{ msg: 'Took over 1 run from a silent runner.', recovered: 1 }])
  })

  it('never logs a password with a lost connection', () => {
    const { events, lines } = observed()
    events.connectionLost('the source', new Error('postgres://reader:hunter2@db/x is gone'))
    expect(lines[0]).toMatchObject({ level: 'error', msg: 'Connection to the source lost.' })
    expect(JSON.stringify(lines)).not.toContain('hunter2')
  })
})

import { describe, expect, it } from 'vitest'
import { NO_ROWS } from '../model/run.js'
import type { PipelineTotals } from '../model/totals.js'
import { RUN_DURATION } from './families.js'
import type { FleetState } from './fleet.js'
import { createMeter } from './meter.js'

const totals: PipelineTotals = {
  pipeline: 'film "dim"',
  status: 'IDLE',
  enabled: true,
  runs: { SUCCESS: 2, FAILED: 1, PAUSED: 0, CANCELLED: 0 },
  rows: { ...NO_ROWS, read: 10, inserted: 7 },
  durations: { count: 3, seconds: 4.5, within: RUN_DURATION.buckets.map((bound) => (bound >= 1 ? 3 : 0)) },
  lastSuccess: 1_700_000_000.5,
  dataAsOf: null,
  freshnessLimit: null,
  watermark: null,
  nextRun: 1_700_000_060,
}
const fleet: FleetState = {
  totals: [totals],
  sources: [],
  pulse: { heartbeat: null, runners: 2, slots: 8, oldestRequest: null },
}

describe('the metrics of this process', () => {
  it('counts runs, rows, batches, retries and requests under their own names', async () => {
    const meter = createMeter({ version: '1.2.3' })
    const rows = { ...NO_ROWS, read: 5, inserted: 3, unchanged: 2 }
    meter.batchDone('film_dim', { rows, durationMs: 200 }, [{ name: 'write', from: 10, to: 90 }])
    meter.reconciled('film_dim', { missing: 3, extra: 0, different: 1 })
    meter.runEnded('film_dim', 'SUCCESS', 2)
    meter.retried('film_dim', 'DATABASE_ERROR')
    meter.recovered(2)
    meter.waited(0.3)
    meter.request({ method: 'GET', route: '/pipelines/:id', status: 200, seconds: 0.01 })
    const text = await meter.text()
    expect(text).toContain('vitrina_runs_total{pipeline="film_dim",status="SUCCESS"} 1')
    expect(text).toContain('vitrina_rows_total{pipeline="film_dim",stage="unchanged"} 2')
    expect(text).toContain('vitrina_run_duration_seconds_bucket{le="5",pipeline="film_dim"} 1')
    expect(text).toContain('vitrina_batch_duration_seconds_sum{pipeline="film_dim",phase="total"} 0.2')
    expect(text).toContain('vitrina_batch_duration_seconds_sum{pipeline="film_dim",phase="write"} 0.08')
    expect(text).toContain('vitrina_reconcile_rows{pipeline="film_dim",kind="missing"} 3')
    expect(text).toContain('vitrina_retries_total{pipeline="film_dim",code="DATABASE_ERROR"} 1')
    expect(text).toContain('vitrina_recoveries_total 2')
    expect(text).toContain('vitrina_queue_wait_seconds_count 1')
    expect(text).toContain('vitrina_http_requests_total{method="GET",route="/pipelines/:id",status="200"} 1')
    expect(text).toContain('vitrina_build_info{version="1.2.3"} 1')
    expect(text).toMatch(/vitrina_last_success_timestamp_seconds\{pipeline="film_dim"\} \d{10}/)
  })

  it('has no heartbeat before the first one', async () => {
    const meter = createMeter({ version: '1' })
    expect(await meter.text()).not.toMatch(/^vitrina_runner_heartbeat/m)
    meter.heartbeat()
    expect(await meter.text()).toMatch(/^vitrina_runner_heartbeat_timestamp_seconds \d{10}/m)
  })
})

describe('the metrics of the fleet', () => {
  it('replace those of this process, each family once', async () => {
    const meter = createMeter({ version: '1' })
    meter.runEnded('other', 'FAILED', 1)
    const text = await meter.text(fleet)
    const families = [...text.matchAll(/^# TYPE (\S+)/gm)].map((found) => found[1])
    expect(new Set(families).size).toBe(families.length)
    expect(text).not.toContain('pipeline="other"')
    expect(text).toContain('vitrina_pipelines{status="IDLE"} 1')
    expect(text).toContain('vitrina_runs_total{pipeline="film \\"dim\\"",status="FAILED"} 1')
    expect(text).toContain('vitrina_run_duration_seconds_bucket{le="0.5",pipeline="film \\"dim\\""} 0')
    expect(text).toContain('vitrina_run_duration_seconds_bucket{le="+Inf",pipeline="film \\"dim\\""} 3')
    expect(text).toContain('vitrina_last_success_timestamp_seconds{pipeline="film \\"dim\\""} 1700000000.5')
  })

  it('contain only lines that Prometheus can parse', async () => {
    const text = await createMeter({ version: '1' }).text(fleet)
    const line = /^(#.*|[a-z_]+(\{[a-z]+="(\\.|[^"\\])*"(,[a-z]+="(\\.|[^"\\])*")*\})? -?[\d.e+-]+|)$/
    expect(text.split('\n').filter((each) => !line.test(each))).toEqual([])
    expect(text.endsWith('\n')).toBe(true)
  })

  it('report only that the meta store is unavailable when it is', async () => {
    const text = await createMeter({ version: '1' }).text(null)
    expect(text).toContain('vitrina_meta_store_up 0')
    expect(text).toContain('vitrina_build_info')
    expect(text).not.toContain('vitrina_pipelines')
  })
})

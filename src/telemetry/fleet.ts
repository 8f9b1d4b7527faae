import { PIPELINE_STATUSES } from '../model/status.js'
import { FINAL_STATUSES, type PipelineTotals, type Pulse } from '../model/totals.js'
import * as families from './families.js'

/** What the meta store knows about all runners together, at this moment. */
export interface Fleet {
  readonly totals: readonly PipelineTotals[]
  readonly pulse: Pulse
}

interface Sample {
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** The fleet as Prometheus text. Null: the meta store did not answer, and only that is told. */
export function fleetText(fleet: Fleet | null): string {
  const up = familyText(families.META_STORE_UP, [{ value: fleet === null ? 0 : 1 }])
  if (fleet === null) return up
  const { totals, pulse } = fleet
  return [
    up,
    familyText(families.PIPELINES, countByStatus(totals)),
    familyText(families.PIPELINE_STATUS, totals.map(statusSample)),
    familyText(families.RUNS, totals.flatMap(runSamples)),
    familyText(families.ROWS, totals.flatMap(rowSamples)),
    familyText(families.RUN_DURATION, totals.flatMap(durationSamples)),
    familyText(families.LAST_SUCCESS, timeSamples(totals, 'lastSuccess')),
    familyText(families.WATERMARK, timeSamples(totals, 'watermark')),
    familyText(families.NEXT_RUN, timeSamples(totals, 'nextRun')),
    familyText(families.OLDEST_REQUEST, unlessNull(pulse.oldestRequest)),
    familyText(families.HEARTBEAT, unlessNull(pulse.heartbeat)),
    familyText(families.RUNNERS, [{ value: pulse.runners }]),
    familyText(families.RUNNER_SLOTS, [{ value: pulse.slots }]),
  ].join('\n')
}

/** Also those that none has: a series that comes and goes cannot be reckoned with. */
function countByStatus(totals: readonly PipelineTotals[]): Sample[] {
  return PIPELINE_STATUSES.map((status) => ({
    labels: { status },
    value: totals.filter((one) => one.status === status).length,
  }))
}

function statusSample({ pipeline, status, enabled }: PipelineTotals): Sample {
  return { labels: { pipeline, status, enabled: String(enabled) }, value: 1 }
}

function timeSamples(
  totals: readonly PipelineTotals[],
  of: 'lastSuccess' | 'watermark' | 'nextRun',
): Sample[] {
  return totals.flatMap(({ pipeline, [of]: value }) =>
    value === null ? [] : [{ labels: { pipeline }, value }],
  )
}

function unlessNull(value: number | null): Sample[] {
  return value === null ? [] : [{ value }]
}

function runSamples({ pipeline, runs }: PipelineTotals): Sample[] {
  return FINAL_STATUSES.map((status) => ({ labels: { pipeline, status }, value: runs[status] }))
}

function rowSamples({ pipeline, rows }: PipelineTotals): Sample[] {
  return families.STAGES.map((stage) => ({ labels: { pipeline, stage }, value: rows[stage] }))
}

/** prom-client has no way to set the buckets of a histogram that somebody else counted. */
function durationSamples({ pipeline, durations }: PipelineTotals): Sample[] {
  const buckets = families.RUN_DURATION.buckets.map((bound, n) => ({
    le: String(bound),
    value: durations.within[n] ?? 0,
  }))
  return [
    ...[...buckets, { le: '+Inf', value: durations.count }].map(({ le, value }) => ({
      suffix: '_bucket',
      labels: { le, pipeline },
      value,
    })),
    { suffix: '_sum', labels: { pipeline }, value: durations.seconds },
    { suffix: '_count', labels: { pipeline }, value: durations.count },
  ]
}

function familyText({ name, help, type }: families.Family, samples: readonly Sample[]): string {
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${labelText(labels)} ${value}`,
  )
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n')
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** The name of a pipeline is free text, and one bad line makes Prometheus refuse the whole scrape. */
function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

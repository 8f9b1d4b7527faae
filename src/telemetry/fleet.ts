import { PIPELINE_STATUSES, type PipelineStatus } from '../model/status.js'
import { FINAL_STATUSES, type PipelineTotals } from '../model/totals.js'
import { HEARTBEAT, LAST_SUCCESS, ROWS, RUN_DURATION, RUNS, STAGES } from './families.js'

/** What the meta store knows about all runners together, at this moment. */
export interface Fleet {
  readonly pipelines: Readonly<Record<PipelineStatus, number>>
  readonly totals: readonly PipelineTotals[]
  /** Seconds since 1970, null when no runner gave a sign of life. */
  readonly heartbeat: number | null
}

interface Family {
  readonly name: string
  readonly help: string
}

interface Sample {
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/** The fleet as Prometheus text. Null: the meta store did not answer, and only that is told. */
export function fleetText(fleet: Fleet | null): string {
  const up = family(
    { name: 'vitrina_meta_store_up', help: 'Whether the meta store answered this scrape.' },
    'gauge',
    [{ value: fleet === null ? 0 : 1 }],
  )
  if (fleet === null) return up
  const { totals } = fleet
  const pipelines = PIPELINE_STATUSES.map((status) => ({
    labels: { status },
    value: fleet.pipelines[status],
  }))
  return [
    up,
    family({ name: 'vitrina_pipelines', help: 'Pipelines, by their status now.' }, 'gauge', pipelines),
    family(RUNS, 'counter', totals.flatMap(runSamples)),
    family(ROWS, 'counter', totals.flatMap(rowSamples)),
    family(RUN_DURATION, 'histogram', totals.flatMap(durationSamples)),
    family(LAST_SUCCESS, 'gauge', totals.flatMap(successSample)),
    family(HEARTBEAT, 'gauge', fleet.heartbeat === null ? [] : [{ value: fleet.heartbeat }]),
  ].join('\n')
}

function runSamples({ pipeline, runs }: PipelineTotals): Sample[] {
  return FINAL_STATUSES.map((status) => ({ labels: { pipeline, status }, value: runs[status] }))
}

function rowSamples({ pipeline, rows }: PipelineTotals): Sample[] {
  return STAGES.map((stage) => ({ labels: { pipeline, stage }, value: rows[stage] }))
}

function successSample({ pipeline, lastSuccess }: PipelineTotals): Sample[] {
  return lastSuccess === null ? [] : [{ labels: { pipeline }, value: lastSuccess }]
}

/** prom-client has no way to set the buckets of a histogram that somebody else counted. */
function durationSamples({ pipeline, durations }: PipelineTotals): Sample[] {
  const buckets = RUN_DURATION.buckets.map((bound, n) => ({
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

function family(
  { name, help }: Family,
  type: 'counter' | 'gauge' | 'histogram',
  samples: readonly Sample[],
): string {
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

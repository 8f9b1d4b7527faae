import type { CapturedSource } from '../model/source.js'
import { PIPELINE_STATUSES } from '../model/status.js'
import { FINAL_STATUSES, type PipelineTotals, type Pulse } from '../model/totals.js'
import * as families from './families.js'

/** The current state of all runners and pipelines, from the meta store. */
export interface FleetState {
  readonly totals: readonly PipelineTotals[]
  readonly pulse: Pulse
  readonly sources: readonly CapturedSource[]
}

interface Sample {
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * The state of the fleet as Prometheus text. Null: the meta store did not respond, and only that is reported. The
 * first `most` pipelines have their own series; the others are counted together.
 */
export function fleetText(fleet: FleetState | null, most = Number.POSITIVE_INFINITY): string {
  const up = familyText(families.META_STORE_UP, [{ value: fleet === null ? 0 : 1 }])
  if (fleet === null) return up
  const { totals, pulse, sources } = fleet
  const [own, others] = [totals.slice(0, most), totals.slice(most)]
  const counted = others.length === 0 ? own : [...own, sumOf(others)]
  // A gauge may come and go, a counter may not: pipelines that need attention are named as long as they do.
  const shown = [...own, ...others.filter((one) => needsAttention(one)).slice(0, most)]
  return [
    up,
    familyText(families.PIPELINES, countByStatus(totals)),
    familyText(families.PIPELINE_STATUS, shown.map(statusSample)),
    familyText(families.PIPELINES_WITHOUT_SERIES, [{ value: others.length }]),
    familyText(families.RUNS, counted.flatMap(runSamples)),
    familyText(families.ROWS, counted.flatMap(rowSamples)),
    familyText(families.RUN_DURATION, counted.flatMap(durationSamples)),
    familyText(families.LAST_SUCCESS, timeSamples(shown, 'lastSuccess')),
    familyText(families.WATERMARK, timeSamples(shown, 'watermark')),
    familyText(families.NEXT_RUN, timeSamples(shown, 'nextRun')),
    familyText(families.DATA_AS_OF, timeSamples(shown, 'dataAsOf')),
    familyText(families.FRESHNESS_LIMIT, timeSamples(shown, 'freshnessLimit')),
    familyText(families.OLDEST_REQUEST, unlessNull(pulse.oldestRequest)),
    familyText(families.HEARTBEAT, unlessNull(pulse.heartbeat)),
    familyText(families.RUNNERS, [{ value: pulse.runners }]),
    familyText(families.RUNNER_SLOTS, [{ value: pulse.slots }]),
    ...sourceTexts(sources.filter(({ state }) => state !== 'unused')),
  ].join('\n')
}

function sourceTexts(sources: readonly CapturedSource[]): string[] {
  const samples = (of: (source: CapturedSource) => number | null) =>
    sources.flatMap((source) => {
      const value = of(source)
      return value === null ? [] : [{ labels: { source: source.connection }, value }]
    })
  return [
    familyText(
      families.SOURCE_CAPTURED,
      samples(({ state }) => (state === 'capturing' ? 1 : 0)),
    ),
    familyText(
      families.SOURCE_LAG,
      samples(({ lagBytes }) => lagBytes),
    ),
    familyText(
      families.SOURCE_HELD,
      samples(({ heldBytes }) => heldBytes),
    ),
    familyText(
      families.SOURCE_GENERATION,
      samples(({ generation }) => (generation === null ? null : Number(generation) / 1000)),
    ),
    familyText(
      families.SOURCE_PIPELINE_LAG,
      samples(({ pipelines }) => {
        const lags = pipelines.flatMap(({ lagBytes }) => lagBytes ?? [])
        return lags.length === 0 ? null : Math.max(...lags)
      }),
    ),
  ]
}

/** Failed, or overdue: what alerts check. */
function needsAttention({ status, nextRun }: PipelineTotals): boolean {
  return status === 'FAILED' || (nextRun !== null && nextRun < Date.now() / 1000)
}

/** As one pipeline. Only its counts are shown. */
function sumOf(totals: readonly PipelineTotals[]): PipelineTotals {
  const add = (of: (one: PipelineTotals) => number) => totals.reduce((sum, one) => sum + of(one), 0)
  return {
    ...totals[0]!,
    pipeline: families.OTHER_LABEL,
    runs: record(FINAL_STATUSES, (status) => add(({ runs }) => runs[status])),
    rows: record(families.STAGES, (stage) => add(({ rows }) => rows[stage])),
    durations: {
      count: add(({ durations }) => durations.count),
      seconds: add(({ durations }) => durations.seconds),
      within: families.RUN_DURATION.buckets.map((_bound, n) =>
        add(({ durations }) => durations.within[n] ?? 0),
      ),
    },
  }
}

function record<K extends string>(keys: readonly K[], of: (key: K) => number): Record<K, number> {
  return Object.fromEntries(keys.map((key) => [key, of(key)])) as Record<K, number>
}

/** Also values without pipelines: a series that comes and goes cannot be used in expressions. */
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
  of: 'lastSuccess' | 'watermark' | 'nextRun' | 'dataAsOf' | 'freshnessLimit',
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

/** prom-client cannot set the buckets of a histogram that was counted elsewhere. */
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

/** The name of a pipeline is free text, and one invalid line makes Prometheus reject the whole scrape. */
function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

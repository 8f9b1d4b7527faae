import type { Batch } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

export interface TimelineSpan {
  readonly from: number
  readonly ms: number
}

const PHASES = ['read', 'transform', 'write', 'checkpoint'] as const
type Phase = (typeof PHASES)[number]

interface Stretch {
  readonly phase: Phase
  readonly ms: number
}

/** In chronological order. Reading and transforms may overlap with the previous batch. */
function stretchesOf(batch: Batch): readonly Stretch[] {
  const known = PHASES.map((phase) => ({ phase, ms: batch[`${phase}_ms`] ?? 0 })).filter(({ ms }) => ms > 0)
  return known.length === 0 ? [{ phase: 'write', ms: batch.duration_ms }] : known
}

function lengthOf(batch: Batch): number {
  return stretchesOf(batch).reduce((sum, { ms }) => sum + ms, 0)
}

export function spanOf(batches: readonly Batch[]): TimelineSpan {
  const ends = batches.map(({ finished_at }) => Date.parse(finished_at))
  const starts = batches.map((batch, n) => (ends[n] ?? 0) - lengthOf(batch))
  const from = Math.min(...starts)
  return { from, ms: Math.max(1, Math.max(...ends) - from) }
}

/** Position and length of a batch within the run, by phase. The batch details contain the numbers. */
export function TimelineBar({ batch, from, ms }: { readonly batch: Batch } & TimelineSpan) {
  const length = lengthOf(batch)
  const width = Math.min(100, Math.max(0.6, (length / ms) * 100))
  const end = Date.parse(batch.finished_at) - from
  const x = Math.min(100 - width, Math.max(0, ((end - length) / ms) * 100))
  let drawn = x
  return (
    <svg className={styles.timeline} viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect className={styles.lane} width={100} height={8} />
      {stretchesOf(batch).map(({ phase, ms: part }) => {
        const at = drawn
        const share = (part / Math.max(length, 0.001)) * width
        drawn += share
        return <rect key={phase} data-phase={phase} x={at} width={share} height={8} />
      })}
      {batch.rows_quarantined > 0 ? (
        <rect className={styles.refused} x={x} y={6} width={width} height={2} />
      ) : null}
    </svg>
  )
}

/** The legend; only phases that occur. */
export function Legend({ batches }: { readonly batches: readonly Batch[] }) {
  const { batches: texts } = useTexts(runTexts)
  const there = PHASES.filter((phase) => batches.some((batch) => (batch[`${phase}_ms`] ?? 0) > 0))
  if (there.length === 0) return null
  const isRefused = batches.some(({ rows_quarantined }) => rows_quarantined > 0)
  return (
    <p className={styles.legend}>
      {there.map((phase) => (
        <span key={phase} data-phase={phase}>
          {texts.phases[phase]}
        </span>
      ))}
      {isRefused ? <span data-phase="refused">{texts.phases.refused}</span> : null}
    </p>
  )
}

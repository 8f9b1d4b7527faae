import { memo, type PointerEvent, useState } from 'react'
import type { RunBar, RunStatus } from '../../api/wire.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { shared } from '../texts.js'
import styles from './charts.module.css'

const BARS = 20
const STEP = 6
const WIDTH = STEP - 2
const HEIGHT = 22
const LEAST = 4

/**
 * The last runs, oldest first: height is duration, shape and colour are the result. One path per result, and a title for
 * the bar under the pointer: twenty separate bars made up half of the rendering time of a row.
 */
export const RunBars = memo(function RunBars({ runs }: { readonly runs: readonly RunBar[] }) {
  const texts = useTexts(shared)
  const [pointed, point] = useState<RunBar | null>(null)
  if (runs.length === 0) return <span className="v-soft">{texts.noRuns}</span>
  const shown = runs.slice(0, BARS).reverse()
  const failed = shown.filter(({ status }) => status === 'FAILED').length
  const offset = BARS - shown.length
  const showBar = ({ nativeEvent }: PointerEvent) =>
    point(shown[Math.floor(nativeEvent.offsetX / STEP) - offset] ?? null)
  return (
    <svg
      className={styles.bars}
      width={BARS * STEP}
      height={HEIGHT}
      role="img"
      aria-label={texts.lastRuns(shown.length, failed)}
      onPointerMove={showBar}
      onPointerLeave={() => point(null)}
    >
      {pointed === null ? null : <BarTitle run={pointed} />}
      <rect width={BARS * STEP} height={HEIGHT} fill="transparent" />
      {shapesOf(shown, offset).map(({ status, bars, crosses }) => (
        <g key={status} className={styles[status]}>
          <path className={styles.shape} d={bars} />
          {crosses === '' ? null : <path d={crosses} strokeWidth={1.4} strokeLinecap="round" />}
        </g>
      ))}
    </svg>
  )
})

function BarTitle({ run }: { readonly run: RunBar }) {
  const texts = useTexts(shared)
  const format = useFormat()
  const facts = [
    texts.runStatus[run.status],
    run.duration_ms === null ? '' : format.duration(run.duration_ms),
    texts.rows(run.rows_written),
  ]
  return <title>{facts.filter((fact) => fact !== '').join(', ')}</title>
}

interface Shapes {
  readonly status: RunStatus
  bars: string
  /** Failed runs have a cross on top. */
  crosses: string
}

function shapesOf(runs: readonly RunBar[], offset: number): readonly Shapes[] {
  const shapes = new Map<RunStatus, Shapes>()
  const longest = Math.max(...runs.map(({ duration_ms }) => duration_ms ?? 0), 1)
  for (const [n, { status, duration_ms }] of runs.entries()) {
    const shape = shapes.get(status) ?? { status, bars: '', crosses: '' }
    shapes.set(status, shape)
    // Square root: a run of an hour must not flatten all others.
    const height = Math.max(LEAST, Math.round(Math.sqrt((duration_ms ?? 0) / longest) * HEIGHT))
    const x = (offset + n) * STEP
    if (status === 'FAILED') {
      const top = HEIGHT - height
      shape.bars += bar(x, Math.max(3, height - 6))
      shape.crosses += `M${x} ${Math.min(top, HEIGHT - 9)}l4 4m0-4l-4 4`
    } else shape.bars += bar(x, height)
  }
  return [...shapes.values()]
}

function bar(x: number, height: number): string {
  return `M${x} ${HEIGHT}v${1 - height}l1 -1h${WIDTH - 2}l1 1v${height - 1}z`
}

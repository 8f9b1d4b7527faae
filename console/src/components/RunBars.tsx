import { memo } from 'react'
import type { RunBar } from '../api/wire.js'
import { useFormat } from '../i18n/format.js'
import { useTexts } from '../i18n/texts.js'
import styles from './charts.module.css'
import { shared } from './texts.js'

const BARS = 20
const STEP = 6
const HEIGHT = 22
const LEAST = 4

/** The last runs, oldest left: the height is the time it took, the shape and the colour are how it ended. */
export const RunBars = memo(function RunBars({ runs }: { readonly runs: readonly RunBar[] }) {
  const texts = useTexts(shared)
  const format = useFormat()
  if (runs.length === 0) return <span className="v-soft">{texts.noRuns}</span>
  const shown = runs.slice(0, BARS).reverse()
  const longest = Math.max(...shown.map(({ duration_ms }) => duration_ms ?? 0), 1)
  const failed = shown.filter(({ status }) => status === 'FAILED').length
  const offset = BARS - shown.length
  return (
    <svg
      className={styles.bars}
      width={BARS * STEP}
      height={HEIGHT}
      role="img"
      aria-label={texts.lastRuns(shown.length, failed)}
    >
      {shown.map((run, n) => {
        // The root: a run of an hour must not flatten all the others.
        const height = Math.max(LEAST, Math.round(Math.sqrt((run.duration_ms ?? 0) / longest) * HEIGHT))
        const facts = [
          texts.runStatus[run.status],
          run.duration_ms === null ? '' : format.duration(run.duration_ms),
          texts.rows(run.rows_written),
        ]
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a bar is its place.
          <g key={n} className={styles[run.status]} transform={`translate(${(offset + n) * STEP} 0)`}>
            <title>{facts.filter((fact) => fact !== '').join(', ')}</title>
            <rect width={STEP} height={HEIGHT} fill="transparent" stroke="none" />
            <BarShape run={run} height={height} />
          </g>
        )
      })}
    </svg>
  )
})

/** Failed ones carry a cross on top, cancelled ones are hollow. */
function BarShape({ run, height }: { readonly run: RunBar; readonly height: number }) {
  const width = STEP - 2
  if (run.status === 'FAILED') {
    const top = HEIGHT - height
    return (
      <>
        <rect y={Math.min(top + 6, HEIGHT - 3)} width={width} height={Math.max(3, height - 6)} rx={1} />
        <path d={`M0 ${Math.min(top, HEIGHT - 9)}l4 4m0-4l-4 4`} strokeWidth={1.4} strokeLinecap="round" />
      </>
    )
  }
  return <rect y={HEIGHT - height} width={width} height={height} rx={1} />
}

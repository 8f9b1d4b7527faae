import { Button, Flex } from '@mantine/core'
import { useState } from 'react'
import type { Batch } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { shared } from '../../components/texts.js'
import { rateOf } from '../../facts/progress.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './run.module.css'
import { runTexts } from './texts.js'

interface Point {
  readonly batch: number
  readonly rate: number
}

const WIDTH = 400
const HEIGHT = 120

/** Rows per second by batch: shows when a run slows down. */
export function ThroughputPanel({ batches }: { readonly batches: readonly Batch[] }) {
  const { throughput: texts } = useTexts(runTexts)
  const words = useTexts(shared)
  const [isTable, setTable] = useState(false)
  const points = batches.map((batch) => ({ batch: batch.batch, rate: rateOf(batch) ?? 0 })).reverse()
  const isDrawn = points.length > 1
  return (
    <Panel
      title={texts.title}
      isFlush
      actions={
        isDrawn ? (
          <Button
            variant="subtle"
            size="compact-sm"
            aria-pressed={isTable}
            onClick={() => setTable(!isTable)}
          >
            {isTable ? words.asChart : words.asTable}
          </Button>
        ) : null
      }
    >
      {!isDrawn ? (
        <p className={styles.nothing}>{texts.none}</p>
      ) : isTable ? (
        <RateTable points={points} />
      ) : (
        <RateChart points={points} />
      )}
    </Panel>
  )
}

function RateChart({ points }: { readonly points: readonly Point[] }) {
  const { throughput: texts } = useTexts(runTexts)
  const format = useFormat()
  const most = Math.max(...points.map(({ rate }) => rate), 1)
  const x = (n: number) => ((n / (points.length - 1)) * WIDTH).toFixed(1)
  const y = (rate: number) => (HEIGHT - (rate / most) * (HEIGHT - 4)).toFixed(1)
  const line = points.map(({ rate }, n) => `${x(n)},${y(rate)}`).join(' ')
  return (
    <Flex component="figure" className={styles.chart} direction="column" gap={6}>
      <figcaption className="v-soft">{texts.most(format.compact(most))}</figcaption>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={texts.label(format.compact(most))}
      >
        <polygon points={`0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}`} />
        <polyline points={line} vectorEffect="non-scaling-stroke" />
      </svg>
      <div className={`${styles.axis} v-soft`}>
        <span>{texts.first(points[0]?.batch ?? 0)}</span>
        <span>{texts.first(points.at(-1)?.batch ?? 0)}</span>
      </div>
    </Flex>
  )
}

function RateTable({ points }: { readonly points: readonly Point[] }) {
  const { throughput: texts, batches } = useTexts(runTexts)
  const format = useFormat()
  return (
    <Scrollable className={styles.scroller} label={texts.title}>
      <table className={styles.batches}>
        <thead>
          <tr>
            <th scope="col">{batches.batch}</th>
            <th scope="col" className={styles.end}>
              {texts.rate}
            </th>
          </tr>
        </thead>
        <tbody>
          {points.map(({ batch, rate }) => (
            <tr key={batch}>
              <th scope="row">{batch}</th>
              <td className={styles.end}>{format.number(Math.round(rate))}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrollable>
  )
}

import { Flex, Stack } from '@mantine/core'
import type { MartColumnProfile } from '../../../api/wire.js'
import grid from '../../../components/layout/grid.module.css'
import { useFormat } from '../../../i18n/format.js'
import { useTexts } from '../../../i18n/texts.js'
import styles from './data.module.css'
import { dataTexts } from './data-texts.js'

const WIDTH = 200
const HEIGHT = 36
const SHOWN_VALUES = 3

interface Props {
  readonly column: MartColumnProfile
  /** Rows that the counts refer to. */
  readonly examined: number
}

/** A histogram for numbers and times, bars of the most frequent values for the rest; both also as a table. */
export function Distribution({ column, examined }: Props) {
  const texts = useTexts(dataTexts)
  const { histogram, common, sample } = column
  if (histogram.length === 0 && common.length === 0) return <span className="v-soft">{texts.noValues}</span>
  const items =
    histogram.length > 0
      ? histogram.map(({ from, to, count }) => ({ label: from === to ? from : `${from} – ${to}`, count }))
      : common.map(({ value, count }) => ({ label: value, count }))
  return (
    <Stack className={styles.distribution} gap={4}>
      {histogram.length > 0 ? (
        <Histogram column={column} />
      ) : (
        <Values common={common.slice(0, SHOWN_VALUES)} examined={examined} />
      )}
      <details>
        <summary aria-label={texts.tableOf(column.name)}>{texts.asTable}</summary>
        <Counts items={items} />
        <p className={styles.sample}>
          <span className="v-soft">{texts.sample}</span> <span className="v-mono">{sample.join(', ')}</span>
        </p>
      </details>
    </Stack>
  )
}

function Histogram({ column: { name, histogram } }: { readonly column: MartColumnProfile }) {
  const texts = useTexts(dataTexts)
  const most = Math.max(...histogram.map(({ count }) => count), 1)
  const step = WIDTH / histogram.length
  return (
    <svg
      className={styles.histogram}
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={texts.histogramOf(name)}
    >
      <line x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {histogram.map(({ from, to, count }, n) => {
        // A bar that is not empty is visible.
        const height = count === 0 ? 0 : Math.max(2, (count / most) * (HEIGHT - 2))
        return (
          <rect key={from} x={n * step} y={HEIGHT - height} width={Math.max(1, step - 1)} height={height}>
            <title>{`${from === to ? from : `${from} – ${to}`}: ${count}`}</title>
          </rect>
        )
      })}
    </svg>
  )
}

function Values({
  common,
  examined,
}: {
  readonly common: MartColumnProfile['common']
  readonly examined: number
}) {
  const format = useFormat()
  return (
    <Flex component="ul" className={styles.values} direction="column" gap={2}>
      {common.map(({ value, count }) => {
        const share = examined === 0 ? 0 : count / examined
        return (
          <li key={value}>
            <svg width={48} height={8} aria-hidden="true">
              <rect className={styles.track} width={48} height={8} />
              <rect width={Math.max(1, 48 * share)} height={8} />
            </svg>
            <span className={`v-mono ${styles.value}`} title={value}>
              {value === '' ? '""' : value}
            </span>
            <span className="v-soft">{format.percent(share)}</span>
          </li>
        )
      })}
    </Flex>
  )
}

function Counts({ items }: { readonly items: readonly { label: string; count: number }[] }) {
  const texts = useTexts(dataTexts)
  const format = useFormat()
  return (
    <table className={grid.grid}>
      <thead>
        <tr>
          <th scope="col">{texts.value}</th>
          <th scope="col">{texts.count}</th>
        </tr>
      </thead>
      <tbody>
        {items.map(({ label, count }) => (
          <tr key={label}>
            <td className="v-mono">{label}</td>
            <td>{format.number(count)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

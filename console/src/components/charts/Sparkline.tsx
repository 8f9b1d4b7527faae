import styles from './charts.module.css'

interface Props {
  /** Oldest first. */
  readonly values: readonly number[]
  readonly label: string
  readonly width?: number
  readonly height?: number
}

/** The history of a number, without axes, next to the number itself. */
export function Sparkline({ values, label, width = 72, height = 20 }: Props) {
  if (values.length < 2) return null
  const most = Math.max(...values)
  const least = Math.min(...values)
  const x = (n: number) => (n / (values.length - 1)) * (width - 3) + 1
  const y = (value: number) => height - 2 - ((value - least) / (most - least || 1)) * (height - 4)
  const last = values.at(-1) ?? 0
  return (
    <svg className={styles.spark} width={width} height={height} role="img" aria-label={label}>
      <polyline points={values.map((value, n) => `${x(n).toFixed(1)},${y(value).toFixed(1)}`).join(' ')} />
      <circle cx={x(values.length - 1)} cy={y(last)} r={1.8} />
    </svg>
  )
}

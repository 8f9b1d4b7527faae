import type { PipelineLine } from '../../api/wire.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { lastComparisonOf } from '../../facts/quality.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import styles from './quality.module.css'
import { fleetQualityTexts } from './texts.js'

/** Whether the data is right, in one line. */
export function Summary({ lines }: { readonly lines: readonly PipelineLine[] }) {
  const texts = useTexts(fleetQualityTexts)
  const now = useNow()
  const compared = lines.map((line) => lastComparisonOf(line)?.comparison.matches ?? null)
  const count = (wanted: boolean | null) => compared.filter((matches) => matches === wanted).length
  const late = lines.filter((line) => ['late', 'stale'].includes(dataFactsOf(line, now).state)).length
  const held = lines.reduce((sum, { quarantined }) => sum + quarantined, 0)
  return (
    <div className={styles.summary}>
      <Fact n={lines.length} label={texts.marts(lines.length)} />
      <Fact n={count(true)} label={texts.equal(count(true))} tone={count(true) > 0 ? 'ok' : null} />
      <Fact n={count(false)} label={texts.differ(count(false))} tone={count(false) > 0 ? 'bad' : null} />
      <Fact n={count(null)} label={texts.never} />
      <Fact n={late} label={texts.late} tone={late > 0 ? 'warn' : null} />
      <Fact n={held} label={texts.held(held)} tone={held > 0 ? 'warn' : null} />
    </div>
  )
}

interface FactProps {
  readonly n: number
  readonly label: string
  readonly tone?: 'ok' | 'bad' | 'warn' | null
}

function Fact({ n, label, tone = null }: FactProps) {
  const format = useFormat()
  return (
    <span className={styles.fact} data-tone={tone ?? undefined}>
      <strong>{format.number(n)}</strong> {label}
    </span>
  )
}

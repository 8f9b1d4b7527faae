import type { PipelineLine } from '../../api/wire.js'
import { SummaryFact, SummaryLine } from '../../components/layout/SummaryLine.js'
import { dataFactsOf } from '../../facts/data-state.js'
import { lastComparisonOf } from '../../facts/quality.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { fleetQualityTexts } from './texts.js'

/** The quality of the data in one line. */
export function Summary({ lines }: { readonly lines: readonly PipelineLine[] }) {
  const texts = useTexts(fleetQualityTexts)
  const now = useNow()
  const compared = lines.map((line) => lastComparisonOf(line)?.comparison.matches ?? null)
  const count = (wanted: boolean | null) => compared.filter((matches) => matches === wanted).length
  const late = lines.filter((line) => ['late', 'stale'].includes(dataFactsOf(line, now).state)).length
  const held = lines.reduce((sum, { quarantined }) => sum + quarantined, 0)
  return (
    <SummaryLine>
      <SummaryFact n={lines.length} label={texts.marts(lines.length)} />
      <SummaryFact n={count(true)} label={texts.equal(count(true))} tone="ok" />
      <SummaryFact n={count(false)} label={texts.differ(count(false))} tone="bad" />
      <SummaryFact n={count(null)} label={texts.never} />
      <SummaryFact n={late} label={texts.late} tone="warn" />
      <SummaryFact n={held} label={texts.held(held)} tone="warn" />
    </SummaryLine>
  )
}

import { Link } from '@tanstack/react-router'
import type { PipelineLine } from '../../api/wire.js'
import { dataFactsOf } from '../../facts/data-state.js'
import {
  driftOf,
  type LastComparison,
  lastComparisonOf,
  type QualityCheck,
  type QualityResult,
} from '../../facts/quality.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { useNow } from '../../time/clock.js'
import { Badge } from './Badge.js'
import { checkTexts } from './check-texts.js'

const ICONS: Readonly<Record<QualityCheck, IconName>> = {
  run: 'cross',
  fresh: 'clock',
  compare: 'quality',
  volume: 'runs',
  quarantine: 'quarantine',
  position: 'pause',
}

/** The result of a check in one word. */
export function CheckBadge({ line, found }: { readonly line: PipelineLine; readonly found: QualityResult }) {
  const texts = useTexts(checkTexts)
  const now = useNow()
  const isStale = dataFactsOf(line, now).state === 'stale'
  const word: Readonly<Record<QualityCheck, string>> = {
    run: texts.fails,
    fresh: isStale ? texts.stale : texts.late,
    compare: texts.drifted,
    volume: texts.noRows,
    quarantine: texts.held,
    position: texts.waits,
  }
  return (
    <Badge tone={found.verdict === 'fail' ? 'bad' : 'warn'} icon={ICONS[found.check]}>
      {word[found.check]}
    </Badge>
  )
}

/** The result as a sentence. Only for checks that did not pass. */
export function useFindingText(line: PipelineLine, check: QualityCheck): string {
  const texts = useTexts(checkTexts)
  const format = useFormat()
  const now = useNow()
  const describe = useComparisonText()
  const { ageMs, periodMs, limitMs } = dataFactsOf(line, now)
  const comparison = lastComparisonOf(line)
  const sentences: Readonly<Record<QualityCheck, () => string>> = {
    run: () => line.last_run?.error ?? texts.failed,
    fresh: () =>
      limitMs === null
        ? texts.old(format.duration(ageMs ?? 0), format.duration(periodMs ?? 0))
        : texts.tooOld(format.duration(ageMs ?? 0), format.duration(limitMs)),
    compare: () =>
      comparison === null
        ? ''
        : `${describe(comparison)}; ${texts.comparedAgo(format.duration(Math.max(0, now - Date.parse(comparison.comparison.at))))}.`,
    volume: () => texts.readNothing,
    quarantine: () => texts.quarantined(line.quarantined),
    position: () => line.last_run?.held_back?.reason ?? '',
  }
  return sentences[check]()
}

/** `3 rows differ: 2 missing, 1 extra`. */
export function useComparisonText(): (last: LastComparison) => string {
  const texts = useTexts(checkTexts)
  const format = useFormat()
  return (last) => {
    const { missing, extra, different, source_rows, target_rows } = last.comparison
    if (!last.isDeep) return texts.counts(format.number(source_rows), format.number(target_rows))
    const kinds = [
      missing > 0 ? texts.missing(missing) : null,
      extra > 0 ? texts.extra(extra) : null,
      different > 0 ? texts.different(different) : null,
    ]
    return `${texts.drift(driftOf(last))}: ${kinds.filter((kind) => kind !== null).join(', ')}`
  }
}

/** A link to the page where the problem can be resolved. */
export function CheckLink({ line, check }: { readonly line: PipelineLine; readonly check: QualityCheck }) {
  const texts = useTexts(checkTexts)
  const run = line.last_run
  if ((check === 'run' || check === 'position') && run !== null)
    return (
      <Link to="/runs/$id" params={{ id: run.id }} className="v-link">
        {texts.openRun}
      </Link>
    )
  if (check === 'quarantine')
    return (
      <Link to="/quarantine" search={{ pipeline: line.id }} className="v-link">
        {texts.openQuarantine}
      </Link>
    )
  if (check === 'compare')
    return (
      <Link to="/pipelines/$id/quality" params={{ id: line.id }} className="v-link">
        {texts.openQuality}
      </Link>
    )
  return (
    <Link to="/pipelines/$id/runs" params={{ id: line.id }} className="v-link">
      {texts.openRuns}
    </Link>
  )
}

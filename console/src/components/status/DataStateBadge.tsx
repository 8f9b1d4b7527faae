import type { DataFacts, DataState } from '../../facts/data-state.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { Tip } from '../text/Tip.js'
import { shared } from '../texts.js'
import { Badge, type Tone } from './Badge.js'

const BADGES: Readonly<Record<DataState, { tone: Tone; icon: IconName }>> = {
  fresh: { tone: 'ok', icon: 'check' },
  late: { tone: 'warn', icon: 'clock' },
  stale: { tone: 'bad', icon: 'warn' },
  unknown: { tone: 'rest', icon: 'clock' },
}

/** The third fact: the age of the data compared with its limit or its schedule. */
export function DataStateBadge({
  facts: { state, ageMs, periodMs, limitMs },
}: {
  readonly facts: DataFacts
}) {
  const texts = useTexts(shared)
  const format = useFormat()
  if (ageMs === null)
    return (
      <Badge tone="rest" icon="dash">
        {texts.neverFilled}
      </Badge>
    )
  const age = format.duration(ageMs)
  const due = periodMs === null ? texts.noSchedule : texts.dueEvery(format.duration(periodMs))
  const why = limitMs === null ? due : texts.mayBe(format.duration(limitMs))
  return (
    <Tip label={why}>
      <Badge {...BADGES[state]} more={state === 'unknown' ? texts.ago(age) : age}>
        {texts.data[state]}
      </Badge>
    </Tip>
  )
}

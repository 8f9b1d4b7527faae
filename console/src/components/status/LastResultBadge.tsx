import type { ReactNode } from 'react'
import type { LastResult } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { shared } from '../texts.js'
import { Badge, type Tone } from './Badge.js'

const BADGES: Readonly<Record<LastResult, { tone: Tone; icon: IconName }>> = {
  succeeded: { tone: 'ok', icon: 'check' },
  failed: { tone: 'bad', icon: 'cross' },
  cancelled: { tone: 'rest', icon: 'stop' },
  paused: { tone: 'hold', icon: 'pause' },
  never: { tone: 'rest', icon: 'dash' },
}

/** The second fact: the result of the last run. */
export function LastResultBadge({
  result,
  more,
}: {
  readonly result: LastResult
  readonly more?: ReactNode
}) {
  const texts = useTexts(shared)
  return (
    <Badge {...BADGES[result]} more={more}>
      {texts.result[result]}
    </Badge>
  )
}

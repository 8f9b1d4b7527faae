import type { ReactNode } from 'react'
import type { Activity } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import { shared } from '../texts.js'
import { Badge, type Tone } from './Badge.js'

const BADGES: Readonly<Record<Activity, { tone: Tone; icon: IconName; isSpinning?: boolean }>> = {
  idle: { tone: 'rest', icon: 'dash' },
  queued: { tone: 'run', icon: 'clock' },
  running: { tone: 'run', icon: 'play' },
  // Blue, not red: nothing has failed yet.
  retrying: { tone: 'run', icon: 'retry', isSpinning: true },
  pausing: { tone: 'hold', icon: 'pause' },
  paused: { tone: 'hold', icon: 'pause' },
  cancelling: { tone: 'warn', icon: 'stop' },
  disabled: { tone: 'rest', icon: 'ban' },
}

/** The first fact: the current activity. */
export function StatusActivity({
  activity,
  more,
}: {
  readonly activity: Activity
  readonly more?: ReactNode
}) {
  const texts = useTexts(shared)
  return (
    <Badge {...BADGES[activity]} more={more}>
      {texts.activity[activity]}
    </Badge>
  )
}

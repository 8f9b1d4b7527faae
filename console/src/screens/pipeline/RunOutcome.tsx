import type { PipelineRun, RunStatus } from '../../api/wire.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'

const BADGES: Readonly<Record<RunStatus, { tone: Tone; icon: IconName }>> = {
  REQUESTED: { tone: 'run', icon: 'clock' },
  RUNNING: { tone: 'run', icon: 'play' },
  SUCCESS: { tone: 'ok', icon: 'check' },
  FAILED: { tone: 'bad', icon: 'cross' },
  PAUSED: { tone: 'hold', icon: 'pause' },
  CANCELLED: { tone: 'rest', icon: 'stop' },
}

export function RunOutcome({ run }: { readonly run: PipelineRun }) {
  const { runStatus } = useTexts(shared)
  return (
    <Badge {...BADGES[run.status]} more={run.error_code}>
      {runStatus[run.status]}
    </Badge>
  )
}

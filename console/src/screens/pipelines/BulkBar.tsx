import { lazy, Suspense } from 'react'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { actionTexts } from '../../components/actions/action-texts.js'
import { SelectionBar } from '../../components/table/SelectionBar.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import type { BulkAction } from './BulkDialog.js'

const BulkDialog = lazy(() => import('./BulkDialog.js').then((module) => ({ default: module.BulkDialog })))

interface Props {
  readonly lines: readonly PipelineLine[]
  readonly action: BulkAction | null
  readonly choose: (action: BulkAction | null) => void
  readonly onClear: () => void
}

export function BulkBar({ lines, action, choose, onClear }: Props) {
  const labels = useTexts(actionTexts)
  const nothingRuns = lines.some((line) => isActive(activityOf(line))) ? null : labels.isNotRunning
  return (
    <SelectionBar count={lines.length} onClear={onClear}>
      <ActionButton needs="operator" icon="play" onClick={() => choose('run')}>
        {labels.run}
      </ActionButton>
      <ActionButton needs="operator" icon="pause" refusal={nothingRuns} onClick={() => choose('pause')}>
        {labels.pause}
      </ActionButton>
      <ActionButton needs="operator" icon="stop" refusal={nothingRuns} onClick={() => choose('cancel')}>
        {labels.cancel}
      </ActionButton>
      {action === null ? null : (
        <Suspense fallback={null}>
          <BulkDialog action={action} lines={lines} onClose={() => choose(null)} />
        </Suspense>
      )}
    </SelectionBar>
  )
}

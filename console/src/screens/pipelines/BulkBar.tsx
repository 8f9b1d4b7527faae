import { Button, Flex } from '@mantine/core'
import { lazy, Suspense } from 'react'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { actionTexts } from '../../components/actions/action-texts.js'
import list from '../../components/layout/list.module.css'
import { shared } from '../../components/texts.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import type { BulkAction } from './BulkDialog.js'
import { pipelinesTexts } from './texts.js'

const BulkDialog = lazy(() => import('./BulkDialog.js').then((module) => ({ default: module.BulkDialog })))

interface Props {
  readonly lines: readonly PipelineLine[]
  readonly action: BulkAction | null
  readonly choose: (action: BulkAction | null) => void
  readonly onClear: () => void
}

export function BulkBar({ lines, action, choose, onClear }: Props) {
  const texts = useTexts(pipelinesTexts)
  const labels = useTexts(actionTexts)
  const words = useTexts(shared)
  if (lines.length === 0) return null
  const nothingRuns = lines.some((line) => isActive(activityOf(line))) ? null : labels.isNotRunning
  return (
    <Flex
      component="section"
      className={list.picked}
      gap={8}
      align="center"
      wrap="wrap"
      aria-label={words.selected(lines.length)}
    >
      <strong>{words.selected(lines.length)}</strong>
      <ActionButton needs="operator" icon="play" onClick={() => choose('run')}>
        {labels.run}
      </ActionButton>
      <ActionButton needs="operator" icon="pause" refusal={nothingRuns} onClick={() => choose('pause')}>
        {labels.pause}
      </ActionButton>
      <ActionButton needs="operator" icon="stop" refusal={nothingRuns} onClick={() => choose('cancel')}>
        {labels.cancel}
      </ActionButton>
      <Button variant="subtle" color="gray" onClick={onClear}>
        {texts.clear}
      </Button>
      {action === null ? null : (
        <Suspense fallback={null}>
          <BulkDialog action={action} lines={lines} onClose={() => choose(null)} />
        </Suspense>
      )}
    </Flex>
  )
}

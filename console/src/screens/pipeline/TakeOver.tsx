import { Checkbox } from '@mantine/core'
import type { Pipeline } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'

interface Props {
  readonly pipeline: Pick<Pipeline, 'managed_by'>
  readonly isTaken: boolean
  readonly onTake: (isTaken: boolean) => void
}

/** What a file decides is not changed by the way: whoever does it says so (ADR 0016). */
export function TakeOver({ pipeline, isTaken, onTake }: Props) {
  const texts = useTexts(editTexts)
  if (pipeline.managed_by !== 'file') return null
  return (
    <Checkbox
      size="xs"
      label={texts.takeOver}
      description={texts.takesOver}
      checked={isTaken}
      onChange={({ currentTarget }) => onTake(currentTarget.checked)}
    />
  )
}

/** Whether the question is still open. */
export function isFilesDecision({ managed_by }: Pick<Pipeline, 'managed_by'>, isTaken: boolean): boolean {
  return managed_by === 'file' && !isTaken
}

import { Checkbox } from '@mantine/core'
import type { Pipeline } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'

interface Props {
  readonly pipeline: Pick<Pipeline, 'managed_by'>
  readonly isTaken: boolean
  readonly onTake: (isTaken: boolean) => void
}

/** Changing a pipeline that is managed by a file requires an explicit takeover (ADR 0016). */
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

/** Whether the takeover must still be confirmed. */
export function isFilesDecision({ managed_by }: Pick<Pipeline, 'managed_by'>, isTaken: boolean): boolean {
  return managed_by === 'file' && !isTaken
}

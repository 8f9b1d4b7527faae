import { Radio } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { editTexts } from './edit-texts.js'

interface Props {
  /** True: reset. Null: not decided yet. */
  readonly choice: boolean | null
  readonly onChoose: (isReset: boolean) => void
}

export function CheckpointChoice({ choice, onChoose }: Props) {
  const texts = useTexts(editTexts)
  return (
    <Radio.Group
      label={texts.checkpointEffect.undecided}
      value={choice === null ? null : choice ? 'reset' : 'keep'}
      onChange={(value) => onChoose(value === 'reset')}
    >
      <div style={{ display: 'grid', gap: 8, marginTop: 8 }}>
        <Radio value="reset" label={texts.resetIt} />
        <Radio value="keep" label={texts.keepIt} />
      </div>
    </Radio.Group>
  )
}

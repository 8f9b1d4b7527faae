import { useState } from 'react'
import { pipelineActions, pipelineKey } from '../../api/pipeline.js'
import { ApiProblem } from '../../api/problem.js'
import { queryClient } from '../../api/query-client.js'
import type { Pipeline } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { CheckpointChoice } from './CheckpointChoice.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import { TakeOver } from './TakeOver.js'

interface Props {
  readonly pipeline: Pipeline
  readonly version: number
  readonly onClose: () => void
}

export function RestoreDialog({ pipeline, version, onClose }: Props) {
  const texts = useTexts(editTexts)
  const [isUndecided, setUndecided] = useState(false)
  const [choice, choose] = useState<boolean | null>(null)
  const [isTaken, take] = useState(false)
  const restore = async () => {
    try {
      await pipelineActions.restore(pipeline.id, version, { resetCheckpoint: choice, isTakenOver: isTaken })
    } catch (error) {
      // The old query reads other rows: only now is it known that a decision about the checkpoint is needed.
      if (error instanceof ApiProblem && error.problem.code === 'CHECKPOINT_INVALID') setUndecided(true)
      throw error
    }
    await queryClient.invalidateQueries({ queryKey: pipelineKey(pipeline.id) })
    toastDone(texts.didRestore(version))
  }
  return (
    <ConfirmDialog
      title={texts.restoreTitle(version)}
      action={texts.restoreDo(version)}
      nameToType={pipeline.name}
      isDangerous
      onConfirm={restore}
      onClose={onClose}
    >
      <div className={styles.stack}>
        <p className={styles.words}>{texts.restoreText(version, pipeline.config_version + 1)}</p>
        <TakeOver pipeline={pipeline} isTaken={isTaken} onTake={take} />
        {isUndecided ? <CheckpointChoice choice={choice} onChoose={choose} /> : null}
      </div>
    </ConfirmDialog>
  )
}

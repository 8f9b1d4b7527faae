import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { pipelineActions, pipelineKey } from '../../api/pipeline.js'
import { queryClient } from '../../api/query-client.js'
import type { Checkpoint, Pipeline } from '../../api/wire.js'
import { ConfirmDialog } from '../../components/actions/ConfirmDialog.js'
import { toastDone } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { pipelineTexts } from './texts.js'

interface Props {
  readonly pipeline: Pipeline
  readonly checkpoint: Checkpoint
  /** Null: reset. Otherwise the column whose value is entered. */
  readonly column: string | null
  readonly onClose: () => void
}

/** An earlier checkpoint costs time; a later one skips rows. So the name must be typed. */
export function ResetDialog({ pipeline, checkpoint, column, onClose }: Props) {
  const texts = useTexts(pipelineTexts)
  const { name, incremental_id_key: idColumn } = pipeline
  const { last_processed_key: present } = checkpoint
  const [key, setKey] = useState(present ?? '')
  const [id, setId] = useState('')
  const reset = async () => {
    const to = { last_processed_key: column === null ? null : key, last_processed_id: id === '' ? null : id }
    await pipelineActions.reset(pipeline.id, to)
    await queryClient.invalidateQueries({ queryKey: [...pipelineKey(pipeline.id), 'checkpoint'] })
    toastDone(texts.didReset(name))
  }
  return (
    <ConfirmDialog
      title={column === null ? texts.resetTitle(name) : texts.backfillTitle(name)}
      action={column === null ? texts.resetDo : texts.backfillDo}
      nameToType={name}
      isDangerous
      onConfirm={reset}
      onClose={onClose}
    >
      <div className={styles.stack}>
        <p className={styles.words}>{column === null ? texts.resetText : texts.backfillText(column)}</p>
        {present === null ? null : <p className={styles.note}>{texts.resetLost(present)}</p>}
        {column === null ? null : (
          <>
            <TextInput
              label={column}
              value={key}
              required
              onChange={(event) => setKey(event.currentTarget.value)}
            />
            {idColumn === null ? null : (
              <TextInput label={idColumn} value={id} onChange={(event) => setId(event.currentTarget.value)} />
            )}
          </>
        )}
      </div>
    </ConfirmDialog>
  )
}

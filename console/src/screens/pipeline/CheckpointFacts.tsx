import type { Checkpoint, Pipeline } from '../../api/wire.js'
import { TimeText } from '../../components/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import { FactList } from './FactList.js'
import styles from './pipeline.module.css'
import { pipelineTexts } from './texts.js'

interface Props {
  readonly pipeline: Pipeline
  readonly checkpoint: Checkpoint
}

export function CheckpointFacts({ pipeline, checkpoint }: Props) {
  const texts = useTexts(pipelineTexts)
  const { last_processed_key: key, last_processed_id: id, updated_at } = checkpoint
  if (key === null)
    return (
      <p className={styles.note}>{pipeline.mode === 'full' ? texts.noCheckpointFull : texts.noCheckpoint}</p>
    )
  const column = pipeline.incremental_key
  return (
    <FactList
      facts={[
        [
          column === null ? texts.checkpointXmin : texts.checkpointKey(column),
          <code key="key" className="v-mono">
            {key}
          </code>,
        ],
        [
          texts.checkpointId(pipeline.incremental_id_key ?? pipeline.key_columns.join(', ')),
          id === null ? null : (
            <code key="id" className="v-mono">
              {id}
            </code>
          ),
        ],
        [texts.moved, <TimeText key="moved" at={updated_at} as="moment" />],
      ]}
    />
  )
}

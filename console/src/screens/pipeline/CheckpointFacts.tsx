import type { Checkpoint, Pipeline } from '../../api/wire.js'
import { FactList } from '../../components/layout/FactList.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './pipeline.module.css'
import { pipelineTexts } from './texts.js'

interface Props {
  readonly pipeline: Pipeline
  readonly checkpoint: Checkpoint
}

export function CheckpointFacts({ pipeline, checkpoint }: Props) {
  const texts = useTexts(pipelineTexts)
  const { last_processed_key: key, last_processed_id: id, updated_at } = checkpoint
  if (key === null) return <p className={styles.note}>{noPlace(pipeline, texts)}</p>
  const column = pipeline.incremental_key ?? pipeline.key_columns.join(', ')
  return (
    <FactList
      facts={[
        [
          texts.checkpointKey(column),
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

function noPlace({ mode, capture }: Pipeline, texts: (typeof pipelineTexts)['en']): string {
  if (mode === 'full') return texts.noCheckpointFull
  if (capture === 'wal') return texts.walPlace
  return capture === 'xmin' ? texts.xminPlace : texts.noCheckpoint
}

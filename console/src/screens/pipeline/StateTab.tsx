import { Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { checkpointQuery } from '../../api/pipeline.js'
import type { Checkpoint, Pipeline } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { Columns } from '../../components/layout/Columns.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { CheckpointFacts } from './CheckpointFacts.js'
import styles from './pipeline.module.css'
import { isUnderWay, usePipeline } from './pipeline-context.js'
import { ResetDialog } from './ResetDialog.js'
import { pipelineTexts } from './texts.js'

export function StateTab() {
  const { pipeline } = usePipeline()
  const { data, error, refetch } = useQuery(checkpointQuery(pipeline.id))
  if (data === undefined)
    return error === null ? (
      <Skeleton lines={4} />
    ) : (
      <ProblemCard error={error} onRetry={() => void refetch()} />
    )
  return (
    <>
      {error === null ? null : <ProblemCard error={error} onRetry={() => void refetch()} />}
      <CheckpointPanel pipeline={pipeline} checkpoint={data} />
    </>
  )
}

interface Props {
  readonly pipeline: Pipeline
  readonly checkpoint: Checkpoint
}

function CheckpointPanel({ pipeline, checkpoint }: Props) {
  const texts = useTexts(pipelineTexts)
  const { line } = usePipeline()
  const [asked, ask] = useState<'start' | 'value' | null>(null)
  const busy = isUnderWay(line ?? pipeline) ? texts.busyForReset : null
  const column = pipeline.capture === 'key' ? pipeline.incremental_key : null
  const hasPlace = checkpoint.last_processed_key !== null
  return (
    <Columns least={300}>
      <Panel title={texts.checkpoint}>
        <div className={styles.stack}>
          <CheckpointFacts pipeline={pipeline} checkpoint={checkpoint} />
          {pipeline.mode === 'full' && !hasPlace ? null : (
            <Group gap={8}>
              <ActionButton needs="operator" icon="retry" refusal={busy} onClick={() => ask('start')}>
                {texts.reset}
              </ActionButton>
              {column === null ? null : (
                <ActionButton needs="operator" icon="clock" refusal={busy} onClick={() => ask('value')}>
                  {texts.backfill}
                </ActionButton>
              )}
            </Group>
          )}
        </div>
      </Panel>
      <Panel title={texts.stateMeaning}>
        <p className={styles.words}>
          <NextRun pipeline={pipeline} checkpoint={checkpoint} />
        </p>
      </Panel>
      {asked === null ? null : (
        <ResetDialog
          pipeline={pipeline}
          checkpoint={checkpoint}
          column={asked === 'value' ? column : null}
          onClose={() => ask(null)}
        />
      )}
    </Columns>
  )
}

/** What the next run does, according to the checkpoint. */
function NextRun({ pipeline, checkpoint }: Props) {
  const texts = useTexts(pipelineTexts)
  const { last_processed_key: key } = checkpoint
  if (pipeline.mode === 'full') return texts.nextFull
  if (pipeline.capture === 'wal') return texts.nextWal
  if (pipeline.capture === 'xmin' || pipeline.incremental_key === null) return texts.nextXmin
  return key === null ? texts.nextFromStart : texts.nextFrom(pipeline.incremental_key, key)
}

import { Button, Group, Modal } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { pipelineActions, pipelineKey } from '../../api/pipeline.js'
import { asProblem } from '../../api/problem.js'
import { queryClient } from '../../api/query-client.js'
import type { Pipeline, PipelinePatch, Rehearsal } from '../../api/wire.js'
import { ActionButton } from '../../components/ActionButton.js'
import { DiffView } from '../../components/DiffView.js'
import { ProblemCard } from '../../components/ProblemCard.js'
import { Skeleton } from '../../components/Skeleton.js'
import { shared } from '../../components/texts.js'
import { toastDone } from '../../components/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { CheckpointChoice } from './CheckpointChoice.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import tables from './tables.module.css'

interface Props {
  readonly pipeline: Pipeline
  /** The change, for the version that is looked at. */
  readonly patchOf: (pipeline: Pipeline) => PipelinePatch
  readonly onSaved: () => void
  readonly onClose: () => void
}

/**
 * Nothing is saved without its difference and its impact, as the server tells them. The version that was looked at is
 * the version that is changed: when somebody was faster, the edit stays and is looked at again.
 */
export function ReviewDialog({ pipeline: latest, patchOf, onSaved, onClose }: Props) {
  const texts = useTexts(editTexts)
  const words = useTexts(shared)
  const [pipeline, lookAt] = useState(latest)
  const [choice, choose] = useState<boolean | null>(null)
  const patch = patchOf(pipeline)
  const { data, error } = useQuery({
    queryKey: ['review', pipeline.id, pipeline.config_version, patch],
    queryFn: () => pipelineActions.rehearse({ pipeline, patch }),
    placeholderData: undefined,
    staleTime: 0,
    gcTime: 0,
  })
  const save = useMutation({
    mutationFn: () =>
      pipelineActions.save({
        pipeline,
        patch: choice === null ? patch : { ...patch, reset_checkpoint: choice },
      }),
    onSuccess: async ({ config_version }) => {
      await queryClient.invalidateQueries({ queryKey: pipelineKey(pipeline.id) })
      toastDone(texts.didSave(config_version))
      onSaved()
      onClose()
    },
    onError: () => queryClient.invalidateQueries({ queryKey: [...pipelineKey(pipeline.id), 'config'] }),
  })
  const isBehind = latest.config_version !== pipeline.config_version || isStale(error) || isStale(save.error)
  const refused = [error, save.error].find((each) => each !== null && !isStale(each))
  const isEmpty = data !== undefined && Object.keys(data.changes).length === 0
  const isOpenQuestion = data?.checkpoint === 'undecided' && choice === null
  return (
    <Modal opened onClose={onClose} title={texts.reviewTitle(pipeline.name)} size="xl">
      <div className={styles.stack}>
        {isBehind && !save.isPending ? (
          <Meanwhile
            latest={latest}
            onLookAgain={() => {
              save.reset()
              lookAt(latest)
            }}
          />
        ) : null}
        {refused === undefined ? null : <ProblemCard error={refused} />}
        {data === undefined ? (
          error === null ? (
            <Skeleton lines={4} />
          ) : null
        ) : (
          <Changes rehearsal={data} choice={choice} onChoose={choose} />
        )}
        {pipeline.managed_by === 'file' ? <p className={styles.note}>{texts.takesOver}</p> : null}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <ActionButton
            needs="admin"
            variant="filled"
            loading={save.isPending}
            refusal={
              isOpenQuestion
                ? texts.decideFirst
                : data === undefined || isEmpty
                  ? texts.noChange
                  : isBehind
                    ? texts.meanwhile(latest.config_version)
                    : null
            }
            onClick={() => save.mutate()}
          >
            {texts.save(pipeline.config_version + 1)}
          </ActionButton>
        </Group>
      </div>
    </Modal>
  )
}

function isStale(error: unknown): boolean {
  return error !== null && asProblem(error).problem.status === 412
}

function Meanwhile({ latest, onLookAgain }: { readonly latest: Pipeline; readonly onLookAgain: () => void }) {
  const texts = useTexts(editTexts)
  const { config_version: version } = latest
  return (
    <section className={styles.meanwhile} role="alert">
      <strong>{texts.meanwhile(version)}</strong>
      <span>{texts.meanwhileHint}</span>
      <div>
        <Button variant="default" onClick={onLookAgain}>
          {texts.reviewAgain(version)}
        </Button>
      </div>
    </section>
  )
}

interface ChangesProps {
  readonly rehearsal: Rehearsal
  readonly choice: boolean | null
  readonly onChoose: (isReset: boolean) => void
}

function Changes({ rehearsal: { changes, checkpoint }, choice, onChoose }: ChangesProps) {
  const texts = useTexts(editTexts)
  if (Object.keys(changes).length === 0) return <p className={styles.note}>{texts.noChange}</p>
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard. */}
      <section className={tables.sheet} tabIndex={0} aria-label={texts.review}>
        <DiffView changes={changes as never} />
      </section>
      <div>
        <strong>{texts.impact}</strong>
        {checkpoint === 'undecided' ? (
          <CheckpointChoice choice={choice} onChoose={onChoose} />
        ) : (
          <p className={styles.words}>{texts.fate[checkpoint]}</p>
        )}
      </div>
    </>
  )
}

import { Button, Flex, Group, Modal } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { actions } from '../../api/actions.js'
import { pipelineActions, pipelineKey, pipelineQuery } from '../../api/pipeline.js'
import { asProblem } from '../../api/problem.js'
import { queryClient, UNCACHED } from '../../api/query-client.js'
import type { DryRun, Pipeline } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { toPatch } from '../../components/authoring/spec.js'
import { chosenFields, type MergeSide, mergeOf } from '../../components/authoring/three-way.js'
import type { UnsavedChanges } from '../../components/authoring/use-edit.js'
import grid from '../../components/layout/grid.module.css'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { DiffView } from '../../components/text/DiffView.js'
import { asText, isLong } from '../../components/text/long-text.js'
import { TextDiff } from '../../components/text/TextDiff.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { CheckpointChoice } from './CheckpointChoice.js'
import { editTexts } from './edit-texts.js'
import styles from './pipeline.module.css'
import review from './review.module.css'
import { isFilesDecision, TakeOver } from './TakeOver.js'
import { ThreeWay } from './ThreeWay.js'

interface Props {
  /** The saved configuration. */
  readonly latest: Pipeline
  readonly draft: UnsavedChanges
  readonly onSaved: () => void
  readonly onClose: () => void
}

/**
 * Nothing is saved without its diff and its impact, as computed by the server. The reviewed version is the one that is
 * changed: if another version was saved in the meantime, the edit is kept and the versions are compared.
 */
export function ReviewDialog({ latest, draft, onSaved, onClose }: Props) {
  const texts = useTexts(editTexts)
  const words = useTexts(shared)
  const [pipeline, setPipeline] = useState(latest)
  const [choices, setChoices] = useState<Readonly<Record<string, MergeSide>>>({})
  const [reset, chooseReset] = useState<boolean | null>(null)
  const [isTaken, take] = useState(false)
  const merge = mergeOf(draft, pipeline)
  const isApart = draft.base.config_version !== pipeline.config_version
  const patch = toPatch(isApart ? chosenFields(merge, choices) : draft.fields)
  const { data, error } = useQuery({
    queryKey: ['review', pipeline.id, pipeline.config_version, patch],
    queryFn: () => dryRun(pipeline, patch),
    ...UNCACHED,
  })
  const save = useSave(pipeline, { onSaved, onClose })
  const isBehind = latest.config_version !== pipeline.config_version || isStale(error) || isStale(save.error)
  const refused = [error, save.error].find((each) => each !== null && !isStale(each))
  const isEmpty = data !== undefined && Object.keys(data.changes).length === 0
  const refusal =
    data?.checkpoint === 'undecided' && reset === null
      ? texts.decideFirst
      : isBehind
        ? texts.meanwhile(latest.config_version)
        : data === undefined || isEmpty
          ? texts.noChange
          : isFilesDecision(pipeline, isTaken)
            ? texts.takeOverFirst
            : null
  const submit = (isRun: boolean) =>
    save.mutate({ patch: reset === null ? patch : { ...patch, reset_checkpoint: reset }, isTaken, isRun })
  return (
    <Modal opened onClose={onClose} title={texts.reviewTitle(pipeline.name)} size={isApart ? 1080 : 'xl'}>
      <div className={styles.stack}>
        {isBehind && !save.isPending ? (
          <Meanwhile
            latest={latest}
            onCompare={() => {
              save.reset()
              setPipeline(latest)
            }}
          />
        ) : null}
        {isApart ? (
          <ThreeWay
            base={draft.base}
            latest={pipeline}
            merge={merge}
            choices={choices}
            onChoose={(field, side) => setChoices({ ...choices, [field]: side })}
          />
        ) : null}
        {refused === undefined ? null : <ProblemCard error={refused} />}
        {data === undefined ? (
          error === null ? (
            <Skeleton lines={4} />
          ) : null
        ) : (
          <Changes dryRun={data} choice={reset} onChoose={chooseReset} />
        )}
        <TakeOver pipeline={pipeline} isTaken={isTaken} onTake={take} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <ActionButton
            needs="admin"
            icon="play"
            loading={save.isPending && save.variables.isRun}
            refusal={refusal}
            onClick={() => submit(true)}
          >
            {texts.saveAndRun}
          </ActionButton>
          <ActionButton
            needs="admin"
            variant="filled"
            loading={save.isPending && !save.variables.isRun}
            refusal={refusal}
            onClick={() => submit(false)}
          >
            {isApart ? texts.saveOnTop(pipeline.config_version) : texts.save(pipeline.config_version + 1)}
          </ActionButton>
        </Group>
      </div>
    </Modal>
  )
}

async function dryRun(pipeline: Pipeline, patch: Parameters<typeof pipelineActions.dryRun>[0]['patch']) {
  try {
    return await pipelineActions.dryRun({ pipeline, patch })
  } catch (error) {
    // The version saved in the meantime is not loaded here yet.
    if (isStale(error)) await reread(pipeline.id)
    throw error
  }
}

function reread(id: string): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: [...pipelineKey(id), 'config'] })
}

interface Submitted {
  readonly patch: Parameters<typeof pipelineActions.save>[0]['patch']
  readonly isTaken: boolean
  readonly isRun: boolean
}

function useSave(pipeline: Pipeline, { onSaved, onClose }: Pick<Props, 'onSaved' | 'onClose'>) {
  const texts = useTexts(editTexts)
  const navigate = useNavigate()
  return useMutation({
    mutationFn: ({ patch, isTaken }: Submitted) => pipelineActions.save({ pipeline, patch }, isTaken),
    onSuccess: async (saved, { isRun }) => {
      const { id, name, config_version } = saved
      // Before the draft is removed: the fields must not show the old values for a moment.
      queryClient.setQueryData(pipelineQuery(id).queryKey, saved)
      onSaved()
      onClose()
      toastDone(texts.didSave(config_version))
      await queryClient.invalidateQueries({ queryKey: pipelineKey(id) })
      if (!isRun) return
      try {
        const { run_id } = await actions.run(id)
        await navigate({ to: '/runs/$id', params: { id: run_id } })
      } catch (error) {
        toastProblem(texts.savedNotRun(name), error)
      }
    },
    onError: () => reread(pipeline.id),
  })
}

function isStale(error: unknown): boolean {
  return error !== null && asProblem(error).problem.status === 412
}

function Meanwhile({ latest, onCompare }: { readonly latest: Pipeline; readonly onCompare: () => void }) {
  const texts = useTexts(editTexts)
  const { config_version: version } = latest
  return (
    <Flex component="section" className={review.meanwhile} direction="column" gap={6} role="alert">
      <strong>{texts.meanwhile(version)}</strong>
      <span>{texts.meanwhileHint}</span>
      <div>
        <Button variant="default" onClick={onCompare}>
          {texts.compareThree}
        </Button>
      </div>
    </Flex>
  )
}

interface ChangesProps {
  readonly dryRun: DryRun
  readonly choice: boolean | null
  readonly onChoose: (isReset: boolean) => void
}

function Changes({ dryRun: { changes, checkpoint }, choice, onChoose }: ChangesProps) {
  const texts = useTexts(editTexts)
  const all = Object.entries(changes)
  const isText = ([, { old, new: next }]: (typeof all)[number]) => isLong(old) || isLong(next)
  const [long, short] = [all.filter(isText), all.filter((each) => !isText(each))]
  if (all.length === 0) return <p className={styles.note}>{texts.noChange}</p>
  return (
    <>
      <Scrollable className={grid.sheet} label={texts.review}>
        {short.length === 0 ? null : <DiffView changes={Object.fromEntries(short) as never} />}
        {long.map(([field, { old, new: next }]) => (
          <div key={field}>
            <p className={`v-mono ${review.longField}`}>{field}</p>
            <TextDiff before={asText(old)} after={asText(next)} language="sql" label={field} />
          </div>
        ))}
      </Scrollable>
      <div>
        <strong>{texts.impact}</strong>
        {checkpoint === 'undecided' ? (
          <CheckpointChoice choice={choice} onChoose={onChoose} />
        ) : (
          <p className={styles.words}>{texts.checkpointEffect[checkpoint]}</p>
        )}
      </div>
    </>
  )
}

import { Button, Flex, Group, Modal } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { actions } from '../../api/actions.js'
import { comingRunsQuery } from '../../api/authoring.js'
import { pipelineActions } from '../../api/pipeline.js'
import { OVERVIEW_KEY } from '../../api/pipelines.js'
import { queryClient, UNCACHED } from '../../api/query-client.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import authoring from '../../components/authoring/authoring.module.css'
import { Findings } from '../../components/authoring/Findings.js'
import { type Spec, stepsOf, toInput } from '../../components/authoring/spec.js'
import type { Inspection } from '../../components/authoring/use-inspection.js'
import grid from '../../components/layout/grid.module.css'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Scrollable } from '../../components/layout/Scrollable.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { DiffView } from '../../components/text/DiffView.js'
import { shared } from '../../components/texts.js'
import { createFormat, useFormat } from '../../i18n/format.js'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from './new.module.css'
import { newTexts } from './texts.js'

interface Props {
  readonly spec: Spec
  readonly inspection: Inspection
  readonly onCreated: () => void
  readonly onClose: () => void
}

/** Shows what will be created, as computed by the server, and creates it. */
export function CreateDialog({ spec, inspection, onCreated, onClose }: Props) {
  const texts = useTexts(newTexts)
  const words = useTexts(shared)
  const { data, error } = useQuery({
    queryKey: ['creation', spec],
    queryFn: () => pipelineActions.dryRunCreation(toInput(spec)),
    ...UNCACHED,
  })
  const create = useCreate(spec, onCreated)
  const refusal = data === undefined ? texts.willHappen : null
  return (
    <Modal opened onClose={onClose} title={texts.reviewTitle(spec.name)} size="xl">
      <div className={authoring.stack}>
        <Happens spec={spec} inspection={inspection} />
        {inspection.validation === null || inspection.validation.valid ? null : (
          <div className={authoring.tight}>
            <strong>{texts.wouldFail}</strong>
            <Findings validation={{ errors: inspection.validation.errors, warnings: [] }} />
          </div>
        )}
        {[error, create.error]
          .filter((each) => each !== null)
          .map((each) => (
            <ProblemCard key={each.message} error={each} />
          ))}
        {data === undefined ? (
          error === null ? (
            <Skeleton lines={3} />
          ) : null
        ) : (
          <details>
            <summary>{texts.allFields}</summary>
            <Scrollable className={grid.sheet} label={texts.allFields}>
              <DiffView changes={data.changes as never} />
            </Scrollable>
          </details>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            {words.cancel}
          </Button>
          <ActionButton
            needs="admin"
            loading={create.isPending && !create.variables}
            refusal={refusal}
            onClick={() => create.mutate(false)}
          >
            {texts.create}
          </ActionButton>
          <ActionButton
            needs="admin"
            icon="play"
            variant="filled"
            loading={create.isPending && create.variables}
            refusal={refusal}
            onClick={() => create.mutate(true)}
          >
            {texts.createAndRun}
          </ActionButton>
        </Group>
      </div>
    </Modal>
  )
}

function useCreate(spec: Spec, onCreated: () => void) {
  const texts = useTexts(newTexts)
  const navigate = useNavigate()
  return useMutation({
    mutationFn: (_isRun: boolean) => pipelineActions.create(toInput(spec)),
    onSuccess: async ({ id, name }, isRun) => {
      toastDone(texts.didCreate(name))
      void queryClient.invalidateQueries({ queryKey: OVERVIEW_KEY })
      const run = isRun
        ? await actions.run(id).catch((error) => toastProblem(texts.notRun(name), error))
        : null
      if (run) await navigate({ to: '/runs/$id', params: { id: run.run_id } })
      else await navigate({ to: '/pipelines/$id/overview', params: { id } })
      onCreated()
    },
  })
}

/** A summary in sentences: target, mode and schedule. */
function Happens({ spec, inspection }: Pick<Props, 'spec' | 'inspection'>) {
  const texts = useTexts(newTexts)
  const lines = useSentences(spec, inspection)
  return (
    <div>
      <strong>{texts.willHappen}</strong>
      <Flex component="ul" className={styles.happens} direction="column" gap={6}>
        {lines.map((line) => (
          <li key={line}>
            <Icon name="right" size={14} />
            <span>{line}</span>
          </li>
        ))}
      </Flex>
    </div>
  )
}

function useSentences(spec: Spec, { validation }: Inspection): string[] {
  const texts = useTexts(newTexts)
  const format = useFormat()
  const starts = useStarts(spec)
  const key = spec.key_columns.length === 0 ? texts.keyOfTable : spec.key_columns.join(', ')
  const way = spec.mode === 'full' ? spec.full_strategy : spec.capture
  const steps = stepsOf(spec)
  const lines = [
    texts.creates(spec.name),
    validation === null || !validation.valid
      ? null
      : validation.creates_target
        ? texts.makesTarget(spec.target_table, validation.columns.length, key)
        : texts.fillsTarget(spec.target_table, key),
    validation === null || validation.plan === null ? null : texts.reads(format.number(validation.plan.rows)),
    steps.length === 0 ? null : texts.steps(steps.join(', ')),
    texts.mode[way],
    spec.deletes === 'sweep' || way === 'replace' || way === 'wal' ? texts.sweeps : texts.keeps,
    ...starts,
    spec.enabled ? null : texts.disabled,
  ]
  return lines.filter((line) => line !== null)
}

/** What starts its runs. */
function useStarts(spec: Spec): (string | null)[] {
  const texts = useTexts(newTexts)
  const next = useNext(spec)
  const { freshness, schedule_interval: schedule, after } = spec
  if (freshness === 'live') return [texts.live]
  const limited = freshness === null ? null : texts.limited(freshness)
  if (schedule !== null) return [next === null ? null : texts.scheduled(next), limited]
  return [limited ?? (after === 'none' ? texts.byHand : texts.followed)]
}

/** The first scheduled run, in the time zone of the schedule. */
function useNext({ schedule_interval, schedule_timezone }: Spec): string | null {
  const { data } = useQuery(comingRunsQuery(schedule_interval?.trim() ?? '', schedule_timezone))
  const format = createFormat(useLanguage(), schedule_timezone)
  const at = data?.runs[0]?.at
  return at === undefined ? null : format.moment(at)
}

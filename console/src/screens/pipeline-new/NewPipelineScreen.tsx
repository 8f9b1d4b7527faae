import { Button, Flex, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { tablesQuery } from '../../api/authoring.js'
import { pipelineQuery } from '../../api/pipeline.js'
import type { Pipeline } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { AboutFields, LimitFields } from '../../components/authoring/AboutFields.js'
import authoring from '../../components/authoring/authoring.module.css'
import { CheckFields } from '../../components/authoring/CheckFields.js'
import { ModeFields } from '../../components/authoring/ModeFields.js'
import { QueryBench } from '../../components/authoring/QueryBench.js'
import { ScheduleFields } from '../../components/authoring/ScheduleFields.js'
import { StepFields } from '../../components/authoring/StepFields.js'
import { queryOf, readsTable, withQuery } from '../../components/authoring/spec.js'
import { TargetFields } from '../../components/authoring/TargetFields.js'
import { useFirstInspection } from '../../components/authoring/use-first-inspection.js'
import { ValidityBadge } from '../../components/authoring/ValidationSummary.js'
import { Columns } from '../../components/layout/Columns.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { CreateDialog } from './CreateDialog.js'
import { exampleQuery } from './example.js'
import styles from './new.module.css'
import { newTexts } from './texts.js'
import { type NewPipeline, useNew } from './use-new.js'

export function NewPipelineScreen() {
  const texts = useTexts(newTexts)
  const { from } = useSearch({ from: '/pipelines/new' })
  const { data, error, refetch } = useQuery({ ...pipelineQuery(from ?? ''), enabled: from !== undefined })
  const title = data === undefined ? texts.title : texts.copyTitle(data.name)
  usePage({ title: [title], path: [{ label: texts.pipelines, to: '/pipelines' }, { label: title }] })
  return (
    <Page>
      <Flex component="header" className={styles.head} direction="column" gap={4}>
        <h1>{title}</h1>
        <p className={styles.lead}>{data === undefined ? texts.lead : texts.copyLead(data.name)}</p>
      </Flex>
      {from === undefined ? (
        <Writing key="blank" original={null} />
      ) : data !== undefined ? (
        <Writing key={data.id} original={data} />
      ) : error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={8} height={28} />
      )}
    </Page>
  )
}

function Writing({ original }: { readonly original: Pipeline | null }) {
  const texts = useTexts(newTexts)
  const made = useNew(original)
  const { spec, inspection, change } = made
  const { data: tables, isPending } = useQuery(tablesQuery(spec.source_connection))
  const example = exampleQuery(tables?.items ?? [])
  const fields = { spec, inspection, onChange: change }
  const isInspected = useFirstInspection(inspection, null)
  return (
    <>
      <QueryBench
        {...fields}
        example={example}
        actions={
          queryOf(spec) === '' && !readsTable(spec) ? (
            // The example needs the list of tables.
            <Button
              variant="default"
              size="compact-xs"
              disabled={isPending}
              onClick={() => change(withQuery(spec, example))}
            >
              {texts.useExample}
            </Button>
          ) : null
        }
      />
      {isInspected ? (
        <Columns least={420}>
          <Stack gap={14} miw={0}>
            <AboutFields {...fields} />
            <TargetFields {...fields} />
            <ScheduleFields {...fields} />
          </Stack>
          <Stack gap={14} miw={0}>
            <ModeFields {...fields} />
            <StepFields {...fields} />
            <LimitFields {...fields} />
            <CheckFields {...fields} />
          </Stack>
        </Columns>
      ) : (
        <Skeleton lines={8} height={28} />
      )}
      <Finish made={made} />
    </>
  )
}

/** Missing fields, and the button that continues. */
function Finish({ made }: { readonly made: NewPipeline }) {
  const texts = useTexts(newTexts)
  const [isReviewed, review] = useState(false)
  const { spec, inspection, isWritten, startOver } = made
  const missing =
    queryOf(spec).trim() === ''
      ? texts.writeFirst
      : spec.name === ''
        ? texts.nameFirst
        : spec.target_table === ''
          ? texts.targetFirst
          : null
  const wrong = inspection.problems.filter(({ tone }) => tone === 'bad').length
  // Problems that prevent saving; everything else can be fixed later.
  const isRefused =
    wrong > 0 && (inspection.validation === null || inspection.problems[0]?.code === 'PIPELINE_NAME_TAKEN')
  const refusal = missing ?? (isRefused ? texts.wrong(wrong) : null)
  useShortcut({ keys: 'mod+s', label: texts.review, isOn: refusal === null }, () => review(true))
  return (
    <Flex
      component="section"
      className={authoring.draftBar}
      rowGap={6}
      columnGap={12}
      align="center"
      wrap="wrap"
      aria-label={texts.review}
    >
      <span role="status">
        {missing !== null ? (
          <span className="v-soft">{missing}</span>
        ) : wrong > 0 ? (
          texts.wrong(wrong)
        ) : inspection.validation === null ? null : (
          <ValidityBadge isValid={inspection.validation.valid} />
        )}
      </span>
      <span className={authoring.space} />
      {isWritten ? (
        <Button variant="default" onClick={startOver}>
          {texts.discard}
        </Button>
      ) : null}
      <ActionButton needs="admin" variant="filled" refusal={refusal} onClick={() => review(true)}>
        {texts.review}
      </ActionButton>
      {isReviewed ? (
        <CreateDialog
          spec={spec}
          inspection={inspection}
          onCreated={startOver}
          onClose={() => review(false)}
        />
      ) : null}
    </Flex>
  )
}

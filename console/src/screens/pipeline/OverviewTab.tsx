import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { orderQuery } from '../../api/order.js'
import { checkpointQuery, freshnessQuery } from '../../api/pipeline.js'
import type { Pipeline, PipelineLine } from '../../api/wire.js'
import { RunBars } from '../../components/charts/RunBars.js'
import { Columns } from '../../components/layout/Columns.js'
import { FactList } from '../../components/layout/FactList.js'
import { Panel } from '../../components/layout/Panel.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { NumberText } from '../../components/text/NumberText.js'
import { TimeText } from '../../components/text/TimeText.js'
import { dataFactsOf, nextRunOf } from '../../facts/data-state.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { CheckpointFacts } from './CheckpointFacts.js'
import styles from './pipeline.module.css'
import { usePipeline } from './pipeline-context.js'
import { StalePanel } from './StalePanel.js'
import { StepGraph } from './StepGraph.js'
import { pipelineTexts } from './texts.js'
import { ValidationPanel } from './ValidationPanel.js'

export function OverviewTab() {
  const { pipeline, line } = usePipeline()
  const isIncremental = pipeline.mode === 'incremental'
  const { data, error } = useQuery({ ...checkpointQuery(pipeline.id), enabled: isIncremental })
  const now = useNow()
  const isStale = line !== null && line.budget_seconds !== null && dataFactsOf(line, now).state === 'stale'
  const { isPending } = useQuery({ ...freshnessQuery(pipeline.id), enabled: isStale })
  const isAwaited = isStale && isPending
  // The cause may take one line or five: what is below it appears after it, but does not disappear if it comes later.
  const [isOpen, setIsOpen] = useState(!isAwaited)
  if (!isAwaited && !isOpen) setIsOpen(true)
  const isPlaced = !isIncremental || data !== undefined || error !== null
  if (!isOpen) return <StalePanel id={pipeline.id} />
  return (
    <>
      {isStale && !isAwaited ? <StalePanel id={pipeline.id} /> : null}
      <StepGraph pipeline={pipeline} />
      <Columns least={300}>
        {line === null ? null : <RecentRuns line={line} />}
        <About pipeline={pipeline} />
        <CheckpointPanel pipeline={pipeline} />
      </Columns>
      {/* On a phone it is below the checkpoint, whose height is unknown until it is loaded. */}
      {isPlaced ? <ValidationPanel pipeline={pipeline} /> : null}
    </>
  )
}

function RecentRuns({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(pipelineTexts)
  const format = useFormat()
  const last = line.last_run
  const next = nextRunOf(line)
  const took = last?.duration_ms ?? null
  return (
    <Panel
      title={texts.recent}
      actions={
        <Link to="/pipelines/$id/runs" params={{ id: line.id }}>
          {texts.allRuns}
        </Link>
      }
    >
      <RunBars runs={line.recent} />
      <FactList
        facts={[
          [texts.lastRunTook, took === null ? null : format.duration(took)],
          [texts.lastRead, last === null ? null : <NumberText key="read" value={last.rows_read} />],
          [texts.lastWritten, last === null ? null : <NumberText key="written" value={last.rows_written} />],
          [texts.nextRun, next === null ? texts.notPlanned : <TimeText key="next" at={next} as="moment" />],
        ]}
      />
      {last?.error ? (
        <p className={styles.failed}>
          <code className="v-mono">{last.error_code}</code> {last.error}
        </p>
      ) : null}
    </Panel>
  )
}

function CheckpointPanel({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const isIncremental = pipeline.mode === 'incremental'
  const { data, error, refetch } = useQuery({ ...checkpointQuery(pipeline.id), enabled: isIncremental })
  return (
    <Panel title={texts.checkpoint}>
      {!isIncremental ? (
        <p className={styles.note}>{texts.noCheckpointFull}</p>
      ) : data !== undefined ? (
        <CheckpointFacts pipeline={pipeline} checkpoint={data} />
      ) : error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={2} />
      )}
    </Panel>
  )
}

function About({ pipeline }: { readonly pipeline: Pipeline }) {
  const texts = useTexts(pipelineTexts)
  const { description, schedule_interval, schedule_timezone, freshness, mode } = pipeline
  const { id, consistency, engine, engine_options, created_at, updated_at } = pipeline
  return (
    <Panel title={texts.about}>
      {description === '' ? (
        <p className={styles.note}>{texts.noDescription}</p>
      ) : (
        <p className={styles.words}>{description}</p>
      )}
      <FactList
        facts={[
          [texts.mode, texts.modes[mode]],
          [texts.engine, texts.engines[engine](engine_options.profile ?? null)],
          [
            texts.schedule,
            schedule_interval === null ? (
              texts.noSchedule
            ) : (
              <code key="schedule" className="v-mono">
                {schedule_interval} {schedule_timezone}
              </code>
            ),
          ],
          [
            texts.freshness,
            freshness === null ? null : (
              <code key="freshness" className="v-mono">
                {freshness}
              </code>
            ),
          ],
          ...(consistency === 'group' ? [[texts.group, <Group key="group" id={id} />] as const] : []),
          [texts.changed, <TimeText key="changed" at={updated_at} as="moment" />],
          [texts.created, <TimeText key="created" at={created_at} as="moment" />],
        ]}
      />
    </Panel>
  )
}

/** The pipelines whose marts are published with its own. */
function Group({ id }: { readonly id: string }) {
  const texts = useTexts(pipelineTexts)
  const { data } = useQuery(orderQuery)
  if (data === undefined) return null
  const node = data.nodes.find((one) => one.id === id)
  const mates = (node?.group ?? []).filter((name) => name !== node?.name)
  return mates.length === 0 ? texts.noGroup : mates.join(', ')
}

import { Flex, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ActiveRun, PipelineLine } from '../../api/wire.js'
import { ActionIconButton } from '../../components/actions/ActionButton.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { Panel } from '../../components/layout/Panel.js'
import { StatusActivity } from '../../components/status/StatusActivity.js'
import { ATTEMPTS, activityOf, isActive } from '../../facts/activity.js'
import { progressOf } from '../../facts/progress.js'
import { type Fleet, waitingReason } from '../../facts/runners.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { More } from './More.js'
import styles from './overview.module.css'
import { overviewTexts } from './texts.js'

const MOST = 8

interface Active {
  readonly line: PipelineLine
  readonly run: ActiveRun
}

/** Longest first. */
function activeOf(lines: readonly PipelineLine[], isQueued: boolean): readonly Active[] {
  return lines
    .filter((line) => isActive(activityOf(line)) && (activityOf(line) === 'queued') === isQueued)
    .flatMap((line) => (line.current_run === null ? [] : [{ line, run: line.current_run }]))
    .sort((a, b) => a.run.requested_at.localeCompare(b.run.requested_at))
}

export function RunningPanel({ lines }: { readonly lines: readonly PipelineLine[] }) {
  const texts = useTexts(overviewTexts)
  const running = activeOf(lines, false)
  return (
    <Panel title={texts.running} isFlush={running.length > 0}>
      {running.length === 0 ? (
        <p className={styles.none}>{texts.runningNone}</p>
      ) : (
        <ul className={styles.list}>
          {running.slice(0, MOST).map((each) => (
            <Running key={each.line.id} {...each} />
          ))}
        </ul>
      )}
      <More n={running.length - MOST} to="/pipelines" search={{ status: 'running' }} />
    </Panel>
  )
}

function Running({ line, run }: Active) {
  const texts = useTexts(overviewTexts)
  const format = useFormat()
  const now = useNow()
  const activity = activityOf(line)
  const { share, rowsPerSecond, etaMs } = progressOf(line, run, now)
  const stops = activity === 'cancelling' || activity === 'pausing' ? texts.stopsAfterBatch : null
  const facts = [
    texts.rows(format.compact(run.rows_read)),
    rowsPerSecond === null ? null : texts.rate(format.compact(rowsPerSecond)),
    stops ?? texts.batch(run.batches + 1),
    stops !== null || etaMs === null ? null : texts.eta(format.duration(etaMs)),
  ]
  const more =
    activity === 'retrying'
      ? texts.attempt(run.attempt, ATTEMPTS)
      : share === null
        ? format.duration(Math.max(0, now - Date.parse(run.started_at ?? run.requested_at)))
        : `~${format.percent(share)}`
  return (
    <Flex component="li" direction="column" gap={8} py={12} px={14}>
      <Flex className={styles.entryTop} rowGap={4} columnGap={10} align="center" wrap="wrap">
        <Link
          to="/runs/$id"
          params={{ id: run.id }}
          className={styles.name}
          aria-label={texts.openRun(line.name)}
        >
          {line.name}
        </Link>
        <StatusActivity activity={activity} more={more} />
        <span className={styles.space} />
        <Controls line={line} />
      </Flex>
      <progress
        className={styles.progress}
        aria-label={texts.progress(line.name)}
        max={1}
        {...(share === null ? {} : { value: share })}
      />
      <span className={styles.soft}>
        {facts.filter((fact) => fact !== null).join(' · ')}
        {run.error_code === null ? null : (
          <>
            {' · '}
            <span className="v-mono">{run.error_code}</span>
          </>
        )}
      </span>
    </Flex>
  )
}

/** A run can be stopped wherever it is shown. */
function Controls({ line }: { readonly line: PipelineLine }) {
  const { pause, cancel } = usePipelineActions()(line)
  return (
    <Flex component="span" gap={2}>
      <ActionIconButton needs="operator" icon="pause" {...pause} />
      <ActionIconButton needs="operator" icon="stop" {...cancel} />
    </Flex>
  )
}

interface QueueProps {
  readonly lines: readonly PipelineLine[]
  /** The number of pipelines that a runner can claim. */
  readonly queued: number
  /** Null: unknown yet. */
  readonly fleet: Fleet | null
}

/** Queued pipelines: how long they wait, and why. */
export function QueuePanel({ lines, queued, fleet }: QueueProps) {
  const texts = useTexts(overviewTexts)
  const waiting = activeOf(lines, true)
  const reason = fleet === null ? null : waitingReason(queued, fleet)
  return (
    <Panel title={texts.queue} isFlush={waiting.length > 0}>
      {waiting.length === 0 ? (
        <p className={styles.none}>{texts.queueNone}</p>
      ) : (
        <ul className={styles.list}>
          {waiting.slice(0, MOST).map((each) => (
            <Waiting
              key={each.line.id}
              {...each}
              why={each.line.enabled ? (reason === null ? '' : texts.waits[reason]) : texts.waitsDisabled}
            />
          ))}
        </ul>
      )}
      <More n={waiting.length - MOST} to="/pipelines" search={{ status: 'queued' }} />
    </Panel>
  )
}

function Waiting({ line, run, why }: Active & { readonly why: string }) {
  const texts = useTexts(overviewTexts)
  const format = useFormat()
  const age = format.duration(Math.max(0, useNow() - Date.parse(run.requested_at)))
  const { name } = line
  const { toggle, cancel } = usePipelineActions()(line)
  return (
    <Flex component="li" className={styles.line} rowGap={4} columnGap={12} align="center">
      <Stack className={styles.two} gap={1}>
        <Link to="/runs/$id" params={{ id: run.id }} className={styles.name} aria-label={texts.openRun(name)}>
          {name}
        </Link>
        <span className={styles.soft}>
          {[texts.waitsFor(age), why].filter((text) => text !== '').join(' · ')}
        </span>
      </Stack>
      <Flex component="span" gap={2}>
        {line.enabled ? null : <ActionIconButton needs="operator" icon="check" {...toggle} />}
        <ActionIconButton needs="operator" icon="stop" {...cancel} />
      </Flex>
    </Flex>
  )
}

import { Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { PipelineLine } from '../../api/wire.js'
import { ActionButton } from '../../components/actions/ActionButton.js'
import { usePipelineActions } from '../../components/actions/use-pipeline-actions.js'
import { Panel } from '../../components/layout/Panel.js'
import { StatusActivity } from '../../components/status/StatusActivity.js'
import { TimeText } from '../../components/text/TimeText.js'
import { shared } from '../../components/texts.js'
import { activityOf } from '../../facts/activity.js'
import { nextRunOf } from '../../facts/data-state.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { useNow } from '../../time/clock.js'
import { More } from './More.js'
import styles from './overview.module.css'
import { overviewTexts } from './texts.js'

interface Props {
  readonly lines: readonly PipelineLine[]
}

const MOST_NEXT = 6
const MOST_RESTING = 8

export function NextPanel({ lines }: Props) {
  const texts = useTexts(overviewTexts)
  const due = lines
    .map((line) => ({ line, at: nextRunOf(line) ?? '' }))
    .filter(({ line, at }) => at !== '' && activityOf(line) !== 'paused')
    .sort((a, b) => a.at.localeCompare(b.at))
  return (
    <Panel title={texts.next} isFlush={due.length > 0}>
      {due.length === 0 ? (
        <p className={styles.none}>{texts.nextNone}</p>
      ) : (
        <ul className={styles.list}>
          {due.slice(0, MOST_NEXT).map(({ line, at }) => (
            <Next key={line.id} line={line} at={at} />
          ))}
        </ul>
      )}
      <More n={due.length - MOST_NEXT} to="/pipelines" search={{ sort: 'next' }} />
    </Panel>
  )
}

function Next({ line, at }: { readonly line: PipelineLine; readonly at: string }) {
  const texts = useTexts(overviewTexts)
  const words = useTexts(shared)
  const format = useFormat()
  const wait = Date.parse(at) - useNow()
  return (
    <Flex component="li" className={styles.line} rowGap={4} columnGap={12} align="center">
      <Link to="/pipelines/$id/overview" params={{ id: line.id }} className={styles.name}>
        {line.name}
      </Link>
      <span className={styles.soft}>{wait > 0 ? words.inTime(format.duration(wait)) : texts.dueNow}</span>
      <TimeText at={at} as="short" />
    </Flex>
  )
}

/** Paused and disabled pipelines. */
export function RestingPanel({ lines }: Props) {
  const texts = useTexts(overviewTexts)
  const resting = lines.filter((line) => ['paused', 'disabled'].includes(activityOf(line)))
  if (resting.length === 0) return null
  return (
    <Panel title={texts.resting} isFlush>
      <ul className={styles.list}>
        {resting.slice(0, MOST_RESTING).map((line) => (
          <Resting key={line.id} line={line} />
        ))}
      </ul>
      <More n={resting.length - MOST_RESTING} to="/pipelines" search={{ sort: 'now' }} />
    </Panel>
  )
}

function Resting({ line }: { readonly line: PipelineLine }) {
  const texts = useTexts(overviewTexts)
  const activity = activityOf(line)
  const isPaused = activity === 'paused'
  const { run, toggle } = usePipelineActions()(line)
  const { refusal, onClick } = isPaused ? run : toggle
  return (
    <Flex component="li" className={styles.line} rowGap={4} columnGap={12} align="center">
      <Link to="/pipelines/$id/overview" params={{ id: line.id }} className={styles.name}>
        {line.name}
      </Link>
      <StatusActivity activity={activity} />
      <ActionButton
        needs="operator"
        icon={isPaused ? 'play' : 'check'}
        size="compact-sm"
        refusal={refusal}
        onClick={onClick}
      >
        {isPaused ? texts.resume : toggle.label}
      </ActionButton>
    </Flex>
  )
}

import { Flex } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { OrderNode } from '../../api/wire.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import styles from './order.module.css'
import { orderTexts } from './texts.js'

interface Props {
  readonly node: OrderNode
  /** Where it is drawn; not given: in a list. */
  readonly place?: { readonly x: number; readonly y: number }
  /** The names of the pipelines before it, where no arrow shows them. */
  readonly follows?: string
}

/** A pipeline with its status, its last run and why it does not run yet. */
export function NodeBox({ node, place, follows = '' }: Props) {
  const texts = useTexts(orderTexts)
  const { id, name, group, last_run: last } = node
  return (
    <li
      className={styles.box}
      data-tone={toneOf(node)}
      data-placed={place !== undefined || undefined}
      style={place === undefined ? undefined : { left: place.x, top: place.y }}
    >
      <Link
        to="/pipelines/$id/overview"
        params={{ id }}
        className={styles.name}
        aria-label={texts.open(name)}
        title={name}
      >
        {name}
      </Link>
      <State node={node} />
      <span className={`v-soft ${styles.last}`}>
        {last === null || last.finished_at === null ? (
          texts.never
        ) : (
          <>
            <TimeText at={last.finished_at} /> · {texts.wrote(last.rows_written + last.rows_deleted)}
          </>
        )}
      </span>
      {follows === '' ? null : <span className="v-soft">{texts.follows(follows)}</span>}
      {group === null ? null : (
        <span className="v-soft">{texts.together(group.filter((one) => one !== name).join(', '))}</span>
      )}
    </li>
  )
}

const STATUSES: Readonly<Record<OrderNode['status'], { tone: Tone; icon: IconName }>> = {
  IDLE: { tone: 'rest', icon: 'dash' },
  RUN_REQUESTED: { tone: 'run', icon: 'clock' },
  RUNNING: { tone: 'run', icon: 'play' },
  PAUSE_REQUESTED: { tone: 'hold', icon: 'pause' },
  PAUSED: { tone: 'hold', icon: 'pause' },
  FAILED: { tone: 'bad', icon: 'cross' },
}

function State({ node: { status, enabled, due } }: { readonly node: OrderNode }) {
  const texts = useTexts(orderTexts)
  const waiting = due?.waiting ?? null
  return (
    <Flex component="span" gap={4} wrap="wrap" miw={0}>
      <Badge {...(enabled ? STATUSES[status] : { tone: 'rest', icon: 'ban' })}>
        {enabled ? texts.statuses[status] : texts.disabled}
      </Badge>
      {due === null ? null : (
        <Badge tone={isHeld(due) ? 'warn' : 'run'} icon={isHeld(due) ? 'warn' : 'clock'}>
          {waiting === null ? texts.due : texts.held[waiting.code](waiting.upstream ?? '')}
        </Badge>
      )}
    </Flex>
  )
}

function isHeld(due: NonNullable<OrderNode['due']>): boolean {
  const code = due.waiting?.code ?? null
  return code !== null && code !== 'UPSTREAM_RUNS' && code !== 'PIPELINE_ACTIVE'
}

function toneOf({ status, enabled, due }: OrderNode): Tone {
  if (!enabled) return 'rest'
  return due !== null && isHeld(due) ? 'warn' : STATUSES[status].tone
}

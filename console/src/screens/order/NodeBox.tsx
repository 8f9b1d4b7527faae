import { Link } from '@tanstack/react-router'
import type { OrderNode } from '../../api/wire.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { TimeText } from '../../components/text/TimeText.js'
import { useTexts } from '../../i18n/texts.js'
import type { IconName } from '../../theme/icons.js'
import styles from './order.module.css'
import { orderTexts } from './texts.js'

/** Where a box is drawn. */
export interface Place {
  readonly x: number
  readonly y: number
  readonly height: number
}

interface Props {
  readonly node: OrderNode
  /** Not given: in a list. */
  readonly place?: Place
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
      style={place === undefined ? undefined : { left: place.x, top: place.y, height: place.height }}
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
      {group === null ? null : <Together names={group.filter((one) => one !== name).join(', ')} />}
    </li>
  )
}

function Together({ names }: { readonly names: string }) {
  const text = useTexts(orderTexts).together(names)
  return (
    <span className={`v-soft ${styles.together}`} title={text}>
      {text}
    </span>
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

/** One badge: two do not fit into a box that is drawn. */
function State({ node }: { readonly node: OrderNode }) {
  const { text, ...look } = useStateOf(node)
  return (
    <span className={styles.state} title={text}>
      <Badge {...look}>{text}</Badge>
    </span>
  )
}

function useStateOf({ status, enabled, due }: OrderNode): { text: string; tone: Tone; icon: IconName } {
  const texts = useTexts(orderTexts)
  const own = enabled
    ? { text: texts.statuses[status], ...STATUSES[status] }
    : { text: texts.disabled, tone: 'rest' as const, icon: 'ban' as const }
  if (due === null) return own
  if (due.waiting === null) return { text: texts.due, tone: 'run', icon: 'clock' }
  const { code, upstream } = due.waiting
  const isActive = code === 'PIPELINE_ACTIVE'
  if (isActive || code === 'PIPELINE_FAILED' || code === 'PIPELINE_PAUSED' || code === 'PIPELINE_DISABLED')
    return { ...own, text: `${own.text} · ${isActive ? texts.dueAgain : texts.due}` }
  const isStuck = isHeld(due)
  return {
    text: texts.held[code](upstream ?? ''),
    tone: isStuck ? 'warn' : 'run',
    icon: isStuck ? 'warn' : 'clock',
  }
}

function isHeld(due: NonNullable<OrderNode['due']>): boolean {
  const code = due.waiting?.code ?? null
  return code !== null && code !== 'UPSTREAM_RUNS' && code !== 'PIPELINE_ACTIVE'
}

function toneOf({ status, enabled, due }: OrderNode): Tone {
  if (!enabled) return 'rest'
  return due !== null && isHeld(due) ? 'warn' : STATUSES[status].tone
}

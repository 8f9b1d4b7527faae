import { Link, useSearch } from '@tanstack/react-router'
import type { LineageNode } from '../../api/wire.js'
import { Badge, type Tone } from '../../components/status/Badge.js'
import { DataStateBadge } from '../../components/status/DataStateBadge.js'
import { StatusActivity } from '../../components/status/StatusActivity.js'
import { Tip } from '../../components/text/Tip.js'
import { activityOf, isActive } from '../../facts/activity.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon, type IconName } from '../../theme/icons.js'
import { type NodeState, staleInputs } from './graph-facts.js'
import styles from './lineage.module.css'
import { lineageTexts } from './texts.js'
import { useView } from './use-lineage.js'

const DATA_TONES = { fresh: 'ok', late: 'warn', stale: 'bad', unknown: 'rest' } as const
const BADGES: Readonly<Record<Exclude<NodeState['kind'], 'data'>, { tone: Tone; icon: IconName }>> = {
  broken: { tone: 'bad', icon: 'cross' },
  missing: { tone: 'warn', icon: 'warn' },
  source: { tone: 'rest', icon: 'dot' },
  view: { tone: 'rest', icon: 'dot' },
  unknown: { tone: 'rest', icon: 'dash' },
}

export function toneOf(state: NodeState): Tone {
  return state.kind === 'data' ? DATA_TONES[state.facts.state] : BADGES[state.kind].tone
}

const ICONS: Readonly<Record<LineageNode['kind'], IconName>> = {
  table: 'table',
  view: 'search',
  sink: 'download',
  pipeline: 'pipelines',
}

export function KindIcon({ node }: { readonly node: LineageNode }) {
  return <Icon name={ICONS[node.kind]} size={14} />
}

/** Pipelines link to their page; other nodes get the focus. */
export function NodeName({ node }: { readonly node: LineageNode }) {
  const texts = useTexts(lineageTexts)
  const search = useSearch({ from: '/lineage' })
  if (node.pipeline_id !== null)
    return (
      <Link
        to="/pipelines/$id/overview"
        params={{ id: node.pipeline_id }}
        className={styles.name}
        aria-label={texts.open(node.name)}
        title={node.name}
      >
        {node.name}
      </Link>
    )
  return (
    <Link
      to="/lineage"
      search={{ ...search, node: node.id, column: undefined }}
      className={`v-mono ${styles.name}`}
      aria-label={texts.focusOn(node.name)}
      title={node.id}
    >
      {node.name}
    </Link>
  )
}

/** Icon, label and colour of the state, and the activity of a pipeline. */
export function NodeFacts({ node }: { readonly node: LineageNode }) {
  const texts = useTexts(lineageTexts)
  const { states, lines } = useView()
  const state = states.get(node.id) ?? { kind: 'unknown' }
  const line = node.pipeline_id === null ? undefined : lines.get(node.pipeline_id)
  const activity = line === undefined ? 'idle' : activityOf(line)
  return (
    <span className={styles.facts}>
      {state.kind === 'data' ? (
        <DataStateBadge facts={state.facts} />
      ) : (
        <Tip label={node.error?.message ?? null}>
          <Badge {...BADGES[state.kind]}>{texts.states[state.kind]}</Badge>
        </Tip>
      )}
      {isActive(activity) || activity === 'disabled' || activity === 'paused' ? (
        <StatusActivity activity={activity} />
      ) : null}
      {node.connection === null ? null : <span className="v-soft">@{node.connection}</span>}
    </span>
  )
}

export function StaleInputs({ node }: { readonly node: LineageNode }) {
  const texts = useTexts(lineageTexts)
  const { fleet, states } = useView()
  if (node.kind !== 'pipeline') return null
  const stale = staleInputs(fleet, states, node.id)
  if (stale.length === 0) return null
  return (
    <Tip label={stale.join(', ')}>
      <Badge tone="warn" icon="warn">
        {texts.staleInputs(stale.length)}
      </Badge>
    </Tip>
  )
}

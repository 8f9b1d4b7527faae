import { ActionIcon } from '@mantine/core'
import { useSearch } from '@tanstack/react-router'
import type { LineageColumn, LineageNode } from '../../api/wire.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import type { Card } from './card-size.js'
import { keyOf } from './graph-facts.js'
import styles from './lineage.module.css'
import { KindIcon, NodeFacts, NodeName, StaleInputs, toneOf } from './NodeBits.js'
import { lineageTexts } from './texts.js'
import { useShow, useView } from './use-lineage.js'

/** The maximum of the server. */
const MOST_HOPS = 9

interface Props {
  readonly card: Card
  readonly place: { readonly x: number; readonly y: number }
  /** The direction from the focus; null: it is the focus, or there is no focus. */
  readonly side: 'up' | 'down' | null
  readonly onExpand: (id: string) => void
}

export function NodeCard({ card, place, side, onExpand }: Props) {
  const texts = useTexts(lineageTexts)
  const { states, graph } = useView()
  const show = useShow()
  const { node } = card
  const state = states.get(node.id) ?? { kind: 'unknown' as const }
  return (
    <li
      className={styles.card}
      data-tone={toneOf(state)}
      data-kind={node.kind}
      data-focus={graph.focus === node.id || undefined}
      style={{ left: place.x, top: place.y, height: card.height }}
    >
      <div className={styles.cardHead}>
        <KindIcon node={node} />
        <NodeName node={node} />
        {node.kind === 'pipeline' && graph.focus !== node.id ? (
          <ActionIcon
            size="sm"
            aria-label={texts.focusOn(node.name)}
            title={texts.focusOn(node.name)}
            onClick={() => show({ node: node.id, column: undefined })}
          >
            <Icon name="lineage" size={14} />
          </ActionIcon>
        ) : null}
      </div>
      <NodeFacts node={node} />
      {card.hasStaleInputs ? <StaleInputs node={node} /> : null}
      <Columns card={card} onExpand={onExpand} />
      <More node={node} direction="up" isOutward={side === 'up'} />
      <More node={node} direction="down" isOutward={side === 'down'} />
    </li>
  )
}

/** More nodes outwards: one more hop. Nodes to the side: focus on their neighbour. */
function More({
  node,
  direction,
  isOutward,
}: {
  readonly node: LineageNode
  readonly direction: 'up' | 'down'
  readonly isOutward: boolean
}) {
  const texts = useTexts(lineageTexts)
  const { graph } = useView()
  const search = useSearch({ from: '/lineage' })
  const show = useShow()
  const hidden = direction === 'up' ? node.hidden_up : node.hidden_down
  if (hidden === 0) return null
  const label = (direction === 'up' ? texts.moreUp : texts.moreDown)(hidden, node.name)
  const isHop = isOutward || graph.focus === node.id
  return (
    <button
      type="button"
      className={styles.more}
      data-direction={direction}
      aria-label={label}
      title={label}
      onClick={() =>
        isHop
          ? show({ [direction]: Math.min(MOST_HOPS, (search[direction] ?? 1) + 1) })
          : show({ node: node.id, [direction]: 1, column: undefined })
      }
    >
      +{hidden}
    </button>
  )
}

function Columns({ card, onExpand }: Pick<Props, 'card' | 'onExpand'>) {
  const texts = useTexts(lineageTexts)
  const { node, columns, hidden, isExpanded } = card
  if (node.columns === null || node.columns.length === 0) return null
  return (
    <ul className={styles.rows} aria-label={texts.columnsOf(node.name)}>
      {columns.map((column) => (
        <li key={column.name}>
          <ColumnButton node={node} column={column} />
        </li>
      ))}
      {hidden > 0 || isExpanded ? (
        <li>
          <button type="button" className={styles.row} onClick={() => onExpand(node.id)}>
            <span className="v-soft">{isExpanded ? texts.fewerColumns : texts.moreColumns(hidden)}</span>
          </button>
        </li>
      ) : null}
    </ul>
  )
}

function ColumnButton({ node, column }: { readonly node: LineageNode; readonly column: LineageColumn }) {
  const texts = useTexts(lineageTexts)
  const { path } = useView()
  const show = useShow()
  const key = keyOf({ node: node.id, column: column.name })
  const isPicked = path !== null && keyOf(path.picked) === key
  const isOnPath = path?.keys.has(key) ?? false
  const how = column.expression ?? column.reason
  return (
    <button
      type="button"
      className={styles.row}
      aria-pressed={isPicked}
      data-path={isOnPath || undefined}
      data-dim={(path !== null && !isOnPath) || undefined}
      title={how ?? undefined}
      onClick={() => show({ column: isPicked ? undefined : key })}
    >
      <span className={`v-mono ${styles.rowName}`}>{column.name}</span>
      {column.kind === null || column.kind === 'direct' ? (
        <span className={styles.rowType}>{column.type}</span>
      ) : (
        <span className={styles.rowKind} data-kind={column.kind}>
          {texts.columnKinds[column.kind]}
        </span>
      )}
    </button>
  )
}

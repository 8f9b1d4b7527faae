import { useMemo } from 'react'
import type { OrderGraph, OrderNode } from '../../api/wire.js'
import { curve, layOut } from '../../components/charts/graph-layout.js'
import { NodeBox, type Place } from './NodeBox.js'
import styles from './order.module.css'

interface Props {
  readonly nodes: readonly OrderNode[]
  readonly edges: OrderGraph['edges']
  readonly label: string
}

/** The same number as in order.module.css. */
const WIDTH = 264
const HEIGHT = 92
/** Of the line that names the members of its group. */
const GROUP_HEIGHT = 24
const MARGIN = 20

function heightOf({ group }: OrderNode): number {
  return group === null ? HEIGHT : HEIGHT + GROUP_HEIGHT
}

export function Drawing({ nodes, edges, label }: Props) {
  const layout = useMemo(
    () =>
      layOut(
        nodes.map((node) => ({ id: node.id, width: WIDTH, height: heightOf(node) })),
        edges,
      ),
    [nodes, edges],
  )
  const heights = new Map(nodes.map((node) => [node.id, heightOf(node)]))
  const placeOf = (id: string): Place => {
    const { x, y } = layout.places.get(id)!
    return { x: x + MARGIN, y: y + MARGIN, height: heights.get(id)! }
  }
  const size = { width: layout.width + 2 * MARGIN, height: layout.height + 2 * MARGIN }
  const inOrder = [...nodes].sort((a, b) => {
    const [one, other] = [placeOf(a.id), placeOf(b.id)]
    return one.x - other.x || one.y - other.y
  })
  return (
    <div className={styles.frame}>
      <div className={styles.canvas} style={size}>
        <svg className={styles.edges} {...size} aria-hidden="true">
          {edges.map(({ from, to, kind, via }) => (
            <path
              key={`${from} ${to} ${kind} ${via}`}
              className={styles.edge}
              data-kind={kind}
              d={curve(right(placeOf(from)), left(placeOf(to)))}
            />
          ))}
        </svg>
        <ul aria-label={label}>
          {inOrder.map((node) => (
            <NodeBox key={node.id} node={node} place={placeOf(node.id)} />
          ))}
        </ul>
      </div>
    </div>
  )
}

interface Point {
  readonly x: number
  readonly y: number
}

function right({ x, y, height }: Place): Point {
  return { x: x + WIDTH, y: y + height / 2 }
}

function left({ x, y, height }: Place): Point {
  return { x, y: y + height / 2 }
}

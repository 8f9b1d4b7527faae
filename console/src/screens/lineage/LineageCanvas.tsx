import { useEffect, useMemo, useRef, useState } from 'react'
import { curve, type Layout, layOut } from '../../components/charts/graph-layout.js'
import { useTexts } from '../../i18n/texts.js'
import { CARD_WIDTH, type Card, cardOf, rowMiddle } from './card-size.js'
import { type Branch, branchesOf, type ColumnRef, staleInputs } from './graph-facts.js'
import styles from './lineage.module.css'
import { NodeCard } from './NodeCard.js'
import { lineageTexts } from './texts.js'
import { type LineageView, useView } from './use-lineage.js'

/** Space for the "+3" buttons at the edges. */
const MARGIN = 28

export function LineageCanvas() {
  const texts = useTexts(lineageTexts)
  const view = useView()
  const [expanded, expand] = useState<ReadonlySet<string>>(new Set())
  const cards = useMemo(() => cardsOf(view, expanded), [view, expanded])
  const layout = useMemo(
    () =>
      layOut(
        [...cards.values()].map(({ node, height }) => ({ id: node.id, width: CARD_WIDTH, height })),
        view.graph.edges,
      ),
    [cards, view.graph.edges],
  )
  const sides = useMemo(() => sidesOf(view), [view])
  const frame = useFocusInView(view.graph.focus, layout)
  const inOrder = [...cards.values()].sort((a, b) => byPlace(layout, a, b))
  const toggle = (id: string) =>
    expand((before) => new Set(before.has(id) ? [...before].filter((one) => one !== id) : [...before, id]))
  return (
    <div ref={frame} className={styles.frame}>
      <div
        className={styles.canvas}
        style={{ width: layout.width + 2 * MARGIN, height: layout.height + 2 * MARGIN }}
      >
        <Edges cards={cards} layout={layout} />
        <ul aria-label={texts.graph}>
          {inOrder.map((card) => (
            <NodeCard
              key={card.node.id}
              card={card}
              place={shifted(layout, card.node.id)}
              side={sides.get(card.node.id) ?? null}
              onExpand={toggle}
            />
          ))}
        </ul>
      </div>
    </div>
  )
}

function cardsOf(
  { graph, fleet, states, path }: LineageView,
  expanded: ReadonlySet<string>,
): ReadonlyMap<string, Card> {
  return new Map(
    graph.nodes.map((node) => {
      const hasStaleInputs = node.kind === 'pipeline' && staleInputs(fleet, states, node.id).length > 0
      return [node.id, cardOf(node, { path, expanded, hasStaleInputs })]
    }),
  )
}

function shifted({ places }: Layout, id: string) {
  const { x, y } = places.get(id)!
  return { x: x + MARGIN, y: y + MARGIN }
}

/** The keyboard order is left to right, top to bottom. */
function byPlace({ places }: Layout, a: Card, b: Card): number {
  const [one, other] = [places.get(a.node.id)!, places.get(b.node.id)!]
  return one.x - other.x || one.y - other.y
}

function sidesOf({ graph }: LineageView): ReadonlyMap<string, 'up' | 'down'> {
  const found = new Map<string, 'up' | 'down'>()
  if (graph.focus === null) return found
  const note = (branches: readonly Branch[], side: 'up' | 'down') => {
    for (const { node, branches: more } of branches) {
      if (!found.has(node.id)) found.set(node.id, side)
      note(more, side)
    }
  }
  for (const side of ['down', 'up'] as const) note(branchesOf(graph, graph.focus, side), side)
  return found
}

/** Scrolls the focus into view. */
function useFocusInView(focus: string | null, layout: Layout) {
  const frame = useRef<HTMLDivElement>(null)
  const latest = useRef(layout)
  latest.current = layout
  useEffect(() => {
    const place = focus === null ? undefined : latest.current.places.get(focus)
    if (place === undefined || frame.current === null) return
    frame.current.scrollTo({
      left: place.x + MARGIN - (frame.current.clientWidth - CARD_WIDTH) / 2,
      top: place.y + MARGIN - frame.current.clientHeight / 3,
    })
  }, [focus])
  return frame
}

function Edges({ cards, layout }: { readonly cards: ReadonlyMap<string, Card>; readonly layout: Layout }) {
  const { graph, path } = useView()
  const end = (ref: ColumnRef | string, side: 'left' | 'right') => {
    const id = typeof ref === 'string' ? ref : ref.node
    const card = cards.get(id)!
    const { x, y } = shifted(layout, id)
    const middle = typeof ref === 'string' ? Math.min(card.height, 58) / 2 : rowMiddle(card, ref.column)
    return { x: side === 'right' ? x + CARD_WIDTH : x, y: y + middle }
  }
  return (
    <svg
      className={styles.edges}
      width={layout.width + 2 * MARGIN}
      height={layout.height + 2 * MARGIN}
      aria-hidden="true"
    >
      <defs>
        <marker
          id="lineage-arrow"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="7"
          markerHeight="7"
          orient="auto"
        >
          <path d="M1 1l6 3l-6 3" className={styles.arrow} />
        </marker>
      </defs>
      {graph.edges.map(({ from, to }) => (
        <path
          key={`${from} ${to}`}
          className={styles.edge}
          data-dim={path !== null || undefined}
          d={curve(end(from, 'right'), end(to, 'left'))}
          markerEnd="url(#lineage-arrow)"
        />
      ))}
      {(path?.links ?? []).map(({ from, to }) => (
        <path
          key={`${from.node}#${from.column} ${to.node}#${to.column}`}
          className={styles.link}
          d={curve(end(from, 'right'), end(to, 'left'))}
        />
      ))}
    </svg>
  )
}

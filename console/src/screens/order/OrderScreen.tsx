import { useDebouncedCallback, useMediaQuery } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { ORDER_KEY, orderQuery } from '../../api/order.js'
import { queryClient } from '../../api/query-client.js'
import type { OrderGraph } from '../../api/wire.js'
import { usePage } from '../../app/page.js'
import { Page } from '../../app/shell/Page.js'
import { EmptyState } from '../../components/layout/EmptyState.js'
import { ProblemCard } from '../../components/layout/ProblemCard.js'
import { Skeleton } from '../../components/layout/Skeleton.js'
import { useTexts } from '../../i18n/texts.js'
import { useLiveEvents } from '../../live/live.js'
import { Icon } from '../../theme/icons.js'
import { Drawing } from './Drawing.js'
import { NodeBox } from './NodeBox.js'
import styles from './order.module.css'
import { orderTexts } from './texts.js'

/** More are not readable as a graph. */
const MOST_DRAWN = 150
/** Events come in bursts. */
const PAUSE_MS = 500

export function OrderScreen() {
  const texts = useTexts(orderTexts)
  usePage({ title: [texts.title], path: [{ label: texts.title }] })
  const { data, error, refetch } = useQuery(orderQuery)
  const reread = useDebouncedCallback(
    () => void queryClient.invalidateQueries({ queryKey: ORDER_KEY }),
    PAUSE_MS,
  )
  useLiveEvents((events) => {
    if (events.some(({ kind }) => kind.startsWith('pipeline.') || kind === 'run.status')) reread()
  })
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      {data !== undefined ? (
        <Shown graph={data} />
      ) : error !== null ? (
        <ProblemCard error={error} onRetry={() => void refetch()} />
      ) : (
        <Skeleton lines={8} height={32} />
      )}
    </Page>
  )
}

function Shown({ graph }: { readonly graph: OrderGraph }) {
  const texts = useTexts(orderTexts)
  const isPhone = useMediaQuery('(max-width: 719px)', undefined, { getInitialValueInEffect: false }) ?? false
  if (graph.nodes.length === 0)
    return (
      <EmptyState icon="pipelines" title={texts.empty.title}>
        {texts.empty.text}
      </EmptyState>
    )
  const joined = new Set(graph.edges.flatMap(({ from, to }) => [from, to]))
  const connected = graph.nodes.filter(({ id }) => joined.has(id))
  const alone = graph.nodes.filter(({ id }) => !joined.has(id))
  const isList = isPhone || connected.length > MOST_DRAWN
  return (
    <>
      <p className="v-soft">{texts.intro}</p>
      <Problems graph={graph} />
      {connected.length > MOST_DRAWN ? (
        <p className={styles.note}>{texts.tooMany(connected.length, MOST_DRAWN)}</p>
      ) : null}
      {connected.length === 0 ? null : isList ? (
        <ul className={styles.list} aria-label={texts.graph}>
          {connected.map((node) => (
            <NodeBox key={node.id} node={node} follows={upstreamsOf(graph, node.id)} />
          ))}
        </ul>
      ) : (
        <Drawing nodes={connected} edges={graph.edges} label={texts.graph} />
      )}
      {alone.length === 0 ? null : (
        <section aria-label={texts.list}>
          <h2 className={styles.heading}>{texts.alone}</h2>
          <ul className={styles.list} aria-label={texts.list}>
            {alone.map((node) => (
              <NodeBox key={node.id} node={node} />
            ))}
          </ul>
        </section>
      )}
    </>
  )
}

function upstreamsOf({ nodes, edges }: OrderGraph, id: string): string {
  const before = new Set(edges.flatMap(({ from, to }) => (to === id ? [from] : [])))
  return nodes.flatMap((node) => (before.has(node.id) ? [node.name] : [])).join(', ')
}

function Problems({ graph }: { readonly graph: OrderGraph }) {
  const texts = useTexts(orderTexts)
  const names = new Map(graph.nodes.map(({ id, name }) => [id, name]))
  return graph.problems.map(({ pipeline_id, code, about }) => (
    <p key={`${pipeline_id} ${about}`} className={styles.note} role="status">
      <Icon name="warn" size={14} /> {names.get(pipeline_id)}:{' '}
      {code === 'AFTER_UNKNOWN'
        ? texts.unknownName(about)
        : code === 'ORDER_CYCLE'
          ? texts.cycle(about)
          : texts.apart(about)}
    </p>
  ))
}

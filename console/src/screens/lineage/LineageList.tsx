import { Flex, Stack } from '@mantine/core'
import type { LineageColumn, LineageNode } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { useTexts } from '../../i18n/texts.js'
import { type Branch, branchesOf, keyOf, makingOf } from './graph-facts.js'
import styles from './lineage.module.css'
import { KindIcon, NodeFacts, NodeName, StaleInputs } from './NodeBits.js'
import { lineageTexts } from './texts.js'
import { useShow, useView } from './use-lineage.js'

/** The graph as a list: a tree around the focus, otherwise one entry per pipeline. */
export function LineageList() {
  const { graph } = useView()
  const focus = graph.nodes.find(({ id }) => id === graph.focus)
  return focus === undefined ? <FleetList /> : <Around focus={focus} />
}

function Around({ focus }: { readonly focus: LineageNode }) {
  const texts = useTexts(lineageTexts)
  const { graph } = useView()
  return (
    <Stack gap={12}>
      <Panel title={texts.focus}>
        <ListedNode node={focus} />
      </Panel>
      <div className={styles.two}>
        <Panel title={texts.upstream}>
          <Branches branches={branchesOf(graph, focus.id, 'up')} empty={texts.nothingUp} />
        </Panel>
        <Panel title={texts.downstream}>
          <Branches branches={branchesOf(graph, focus.id, 'down')} empty={texts.nothingDown} />
        </Panel>
      </div>
    </Stack>
  )
}

function Branches({ branches, empty }: { readonly branches: readonly Branch[]; readonly empty?: string }) {
  const texts = useTexts(lineageTexts)
  if (branches.length === 0) return empty === undefined ? null : <p className="v-soft">{empty}</p>
  return (
    <Flex component="ul" className={styles.tree} direction="column" gap={8}>
      {branches.map(({ node, isRepeated, branches: more }) => (
        <li key={node.id}>
          {isRepeated ? (
            <span>
              <NodeName node={node} /> <span className="v-soft">{texts.seenAbove}</span>
            </span>
          ) : (
            <ListedNode node={node} />
          )}
          <Branches branches={more} />
        </li>
      ))}
    </Flex>
  )
}

function ListedNode({ node }: { readonly node: LineageNode }) {
  const texts = useTexts(lineageTexts)
  const more = node.hidden_up + node.hidden_down
  const show = useShow()
  return (
    <Stack gap={4} miw={0}>
      <Flex className={styles.listedHead} rowGap={2} columnGap={8} align="center" wrap="wrap">
        <KindIcon node={node} />
        <NodeName node={node} />
        <NodeFacts node={node} />
        <StaleInputs node={node} />
        {more === 0 ? null : (
          <button
            type="button"
            className={styles.moreInline}
            aria-label={texts.focusOn(node.name)}
            onClick={() => show({ node: node.id, column: undefined })}
          >
            +{more}
          </button>
        )}
      </Flex>
      {node.error === null ? null : <p className={styles.reason}>{node.error.message}</p>}
      <ListedColumns node={node} />
    </Stack>
  )
}

function ListedColumns({ node }: { readonly node: LineageNode }) {
  const texts = useTexts(lineageTexts)
  if (node.columns === null) return null
  return (
    <>
      {node.columns.length === 0 ? (
        <p className="v-soft">{texts.noColumns}</p>
      ) : (
        <Flex
          component="ul"
          className={styles.listedColumns}
          direction="column"
          gap={1}
          aria-label={texts.columnsOf(node.name)}
        >
          {node.columns.map((column) => (
            <ListedColumn key={column.name} node={node} column={column} />
          ))}
        </Flex>
      )}
      {node.open === null || node.error !== null ? null : (
        <p className={styles.reason}>
          {texts.openEnd} {node.open}
        </p>
      )}
    </>
  )
}

function ListedColumn({ node, column }: { readonly node: LineageNode; readonly column: LineageColumn }) {
  const texts = useTexts(lineageTexts)
  const { graph, path } = useView()
  const show = useShow()
  const key = keyOf({ node: node.id, column: column.name })
  const isPicked = path !== null && keyOf(path.picked) === key
  const nameOf = (id: string) => graph.nodes.find((one) => one.id === id)?.name ?? id
  const made = makingOf(graph, { node: node.id, column: column.name, detail: column })
  const from = made.expression ?? made.sources.map((ref) => `${nameOf(ref.node)}.${ref.column}`).join(', ')
  return (
    <li data-path={path?.keys.has(key) || undefined}>
      <button
        type="button"
        className={styles.pick}
        aria-pressed={isPicked}
        onClick={() => show({ column: isPicked ? undefined : key })}
      >
        <span className="v-mono">{column.name}</span>
      </button>
      {column.type === null ? null : <span className="v-soft">{column.type}</span>}
      {made.kind === null || made.kind === 'direct' ? null : (
        <span className={styles.how} data-kind={made.kind}>
          {texts.columnKinds[made.kind]}
        </span>
      )}
      {from === '' ? null : <code className={`v-mono ${styles.formula}`}>← {from}</code>}
      {made.reason === null ? null : <span className={styles.reason}>{made.reason}</span>}
    </li>
  )
}

/** Every pipeline with its sources and targets. */
function FleetList() {
  const texts = useTexts(lineageTexts)
  const { graph } = useView()
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]))
  const ends = (list: readonly (string | undefined)[]) => list.flatMap((id) => nodes.get(id ?? '') ?? [])
  return (
    <ul className={styles.fleet} aria-label={texts.groups.pipeline}>
      {graph.nodes
        .filter(({ kind }) => kind === 'pipeline')
        .map((node) => (
          <li key={node.id}>
            <ListedNode node={node} />
            <Ends
              word={texts.reads}
              nodes={ends(graph.edges.filter(({ to }) => to === node.id).map(({ from }) => from))}
            />
            <Ends
              word={texts.fills}
              nodes={ends(graph.edges.filter(({ from }) => from === node.id).map(({ to }) => to))}
            />
          </li>
        ))}
    </ul>
  )
}

function Ends({ word, nodes }: { readonly word: string; readonly nodes: readonly LineageNode[] }) {
  if (nodes.length === 0) return null
  return (
    <Flex component="p" className={styles.ends} rowGap={2} columnGap={10} wrap="wrap">
      <span className="v-soft">{word}</span>
      {nodes.map((node) => (
        <NodeName key={node.id} node={node} />
      ))}
    </Flex>
  )
}

import { Button, Flex, Stack } from '@mantine/core'
import type { LineageNode } from '../../api/wire.js'
import { Panel } from '../../components/layout/Panel.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { type ColumnPath, type ColumnStep, makingOf } from './graph-facts.js'
import styles from './lineage.module.css'
import { lineageTexts } from './texts.js'
import { useShow, useView } from './use-lineage.js'

/** The lineage of the selected column as text. */
export function PathPanel() {
  const texts = useTexts(lineageTexts)
  const { path } = useView()
  const show = useShow()
  if (path === null) return <p className="v-soft">{texts.pickHint}</p>
  return (
    <Panel
      title={texts.path}
      actions={
        <Button
          variant="default"
          leftSection={<Icon name="cross" size={12} />}
          onClick={() => show({ column: undefined })}
        >
          {texts.clear}
        </Button>
      }
    >
      <Stack className={styles.path} gap={10} aria-live="polite">
        <Step step={path.picked} isPicked />
        <Steps title={texts.from} steps={path.above} />
        <Steps title={texts.to} steps={path.below} />
        <Shaping path={path} />
      </Stack>
    </Panel>
  )
}

function Steps({ title, steps }: { readonly title: string; readonly steps: readonly ColumnStep[] }) {
  if (steps.length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <ul>
        {steps.map((step) => (
          <li key={`${step.node}#${step.column}`}>
            <Step step={step} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function Step({ step, isPicked = false }: { readonly step: ColumnStep; readonly isPicked?: boolean }) {
  const texts = useTexts(lineageTexts)
  const { graph } = useView()
  const { node, column } = step
  const detail = makingOf(graph, step)
  const names = useNames()
  const how = detail.kind === null ? texts.sourceColumn : texts.columnKinds[detail.kind]
  return (
    <Flex
      component="p"
      className={styles.step}
      rowGap={4}
      columnGap={10}
      align="baseline"
      wrap="wrap"
      data-picked={isPicked || undefined}
    >
      <code className="v-mono">
        {names(node)}.<strong>{column}</strong>
      </code>
      <span className={styles.how} data-kind={detail.kind}>
        {how}
      </span>
      {detail.expression === null ? null : (
        <code className={`v-mono ${styles.formula}`}>{detail.expression}</code>
      )}
      {detail.through.length === 0 ? null : <span>{texts.through(detail.through.join(', '))}</span>}
      {detail.reason === null ? null : <span className={styles.reason}>{detail.reason}</span>}
    </Flex>
  )
}

/** The name of a pipeline instead of its id. */
function useNames(): (id: string) => string {
  const { graph } = useView()
  return (id) => graph.nodes.find((node) => node.id === id)?.name ?? id
}

/** For a column of a pipeline, of a view, or of a mart. */
function Shaping({ path }: { readonly path: ColumnPath }) {
  const texts = useTexts(lineageTexts)
  const { graph } = useView()
  const names = useNames()
  const node = maker(graph.nodes, path)
  if (node === undefined || node.shaping.length === 0) return null
  return (
    <section>
      <h3>{texts.alsoRows}</h3>
      <ul className={styles.shaping}>
        {node.shaping.map((one) => (
          <li key={`${one.node}#${one.column}`}>
            <code className="v-mono">
              {names(one.node)}.{one.column}
            </code>{' '}
            <span className="v-soft">{one.uses.map((use) => texts.uses[use]).join(', ')}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function maker(nodes: readonly LineageNode[], { picked, above }: ColumnPath): LineageNode | undefined {
  const own = nodes.find(({ id }) => id === picked.node)
  if (own !== undefined && own.shaping.length > 0) return own
  const nearest = above.find(({ node }) => picked.detail.sources.some((ref) => ref.node === node))
  return nodes.find(({ id }) => id === nearest?.node)
}

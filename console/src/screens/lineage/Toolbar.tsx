import { Button, Group, SegmentedControl, Select } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { openLineageText } from '../../api/lineage.js'
import type { LineageGraph, LineageNode } from '../../api/wire.js'
import { saveFile } from '../../components/actions/save-file.js'
import { toastDone, toastProblem } from '../../components/actions/toast.js'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import styles from './lineage.module.css'
import type { LineageSearch } from './search.js'
import { lineageTexts } from './texts.js'
import { useShow } from './use-lineage.js'

interface Props {
  readonly search: LineageSearch
  readonly fleet: LineageGraph
  /** The id of the node in focus. */
  readonly focus: LineageNode | null
  readonly view: 'graph' | 'list'
}

const HOPS = Array.from({ length: 10 }, (_, n) => String(n))
/** Maximum number of options; typing finds the rest. */
const MOST_OPTIONS = 200

export function Toolbar({ search, fleet, focus, view }: Props) {
  const texts = useTexts(lineageTexts)
  const show = useShow()
  return (
    <Group gap={8}>
      <Select
        className={styles.focus}
        aria-label={texts.focus}
        placeholder={texts.everything}
        leftSection={<Icon name="search" size={14} />}
        searchable
        clearable
        limit={MOST_OPTIONS}
        data={useOptions(fleet)}
        value={focus?.id ?? null}
        onChange={(node) => show({ node: node ?? undefined, column: undefined })}
      />
      {focus === null ? null : <Hops search={search} />}
      <SegmentedControl
        size="xs"
        aria-label={texts.level}
        data={(['table', 'column'] as const).map((value) => ({ value, label: texts.levels[value] }))}
        value={search.level ?? 'table'}
        onChange={(level) => show({ level: level === 'column' ? level : undefined, column: undefined })}
      />
      <SegmentedControl
        size="xs"
        aria-label={texts.view}
        data={(['graph', 'list'] as const).map((value) => ({ value, label: texts.views[value] }))}
        value={view}
        onChange={(value) => show({ view: value as 'graph' | 'list' })}
      />
      <span className={styles.space} />
      <Button
        component={Link}
        to="/order"
        variant="default"
        leftSection={<Icon name="pipelines" size={14} />}
      >
        {texts.order}
      </Button>
      <ExportButton focus={focus} />
    </Group>
  )
}

function Hops({ search }: { readonly search: LineageSearch }) {
  const texts = useTexts(lineageTexts)
  const show = useShow()
  return (['up', 'down'] as const).map((direction) => (
    <Select
      key={direction}
      w={106}
      aria-label={direction === 'up' ? texts.upHops : texts.downHops}
      leftSectionWidth={54}
      leftSection={<span className={styles.hopWord}>{texts[direction]}</span>}
      allowDeselect={false}
      data={HOPS}
      value={String(search[direction] ?? 1)}
      onChange={(hops) => show({ [direction]: Number(hops) })}
    />
  ))
}

type NodeGroup = 'pipeline' | 'mart' | 'table' | 'view'

function useOptions(fleet: LineageGraph) {
  const texts = useTexts(lineageTexts)
  const filled = new Set(fleet.edges.filter(({ from }) => from.startsWith('pipeline:')).map(({ to }) => to))
  const groupOf = ({ id, kind }: LineageNode): NodeGroup =>
    kind === 'pipeline' || kind === 'view' ? kind : filled.has(id) ? 'mart' : 'table'
  return (['pipeline', 'mart', 'table', 'view'] as const)
    .map((group) => ({
      group: texts.groups[group],
      items: fleet.nodes
        .filter((node) => groupOf(node) === group)
        .map(({ id, name, connection }) => ({
          value: id,
          label: connection === null ? name : `${name} @${connection}`,
        }))
        .sort((a, b) => a.label.localeCompare(b.label)),
    }))
    .filter(({ items }) => items.length > 0)
}

/** Exports the pipeline in focus, or all pipelines. */
function ExportButton({ focus }: { readonly focus: LineageNode | null }) {
  const texts = useTexts(lineageTexts)
  const pipeline = focus?.pipeline_id ?? undefined
  const { mutate, isPending } = useMutation({
    mutationFn: () => openLineageText(pipeline),
    onSuccess: (text) => {
      const name = `openlineage-${pipeline === undefined ? 'all' : focus!.name}.json`
      saveFile(name, new Blob([text], { type: 'application/json' }))
      toastDone(texts.exported)
    },
    onError: (error) => toastProblem(texts.exportFailed, error),
  })
  return (
    <Button
      variant="default"
      loading={isPending}
      leftSection={<Icon name="download" size={14} />}
      onClick={() => mutate()}
    >
      {texts.export}
    </Button>
  )
}

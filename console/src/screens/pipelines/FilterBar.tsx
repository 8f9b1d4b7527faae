import { ActionIcon, Button, Group, NativeSelect } from '@mantine/core'
import { Link, useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { useMay, useSession } from '../../api/session.js'
import type { PipelineLine } from '../../api/wire.js'
import list from '../../components/layout/list.module.css'
import { SearchBox } from '../../components/search/SearchBox.js'
import { Tip } from '../../components/text/Tip.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import styles from './pipelines.module.css'
import { kindOf, PIPELINE_STATUS_FILTERS, type PipelineStatusFilter, type PipelinesSearch } from './search.js'
import { pipelinesTexts } from './texts.js'
import { Views } from './Views.js'

interface Props {
  readonly search: PipelinesSearch
  readonly lines: readonly PipelineLine[]
}

/** Filters are kept in the address: it can be shared, and the back button undoes a change. */
export function FilterBar({ search, lines }: Props) {
  const texts = useTexts(pipelinesTexts)
  const navigate = useNavigate()
  const show = (change: Partial<PipelinesSearch>) =>
    void navigate({ to: '/pipelines', search: { ...search, ...change }, replace: true })
  const kinds = useSeen(lines, ({ target_table }) => [kindOf(target_table)], search.target)
  const tags = useSeen(lines, (line) => line.tags, search.tag)
  return (
    <Group gap={8}>
      <SearchBox
        className={list.filter}
        label={texts.filter}
        shortcut={texts.focusFilter}
        value={search.q}
        onChange={(q) => show({ q })}
      />
      <NativeSelect
        w={170}
        aria-label={texts.status}
        data={[
          { value: '', label: texts.status },
          ...PIPELINE_STATUS_FILTERS.map((value) => ({ value, label: texts.statuses[value] })),
        ]}
        value={search.status ?? ''}
        onChange={({ currentTarget: { value } }) =>
          show({ status: value === '' ? undefined : (value as PipelineStatusFilter) })
        }
      />
      <NativeSelect
        w={150}
        aria-label={texts.target}
        data={[{ value: '', label: texts.target }, ...kinds]}
        value={search.target ?? ''}
        onChange={({ currentTarget: { value } }) => show({ target: value === '' ? undefined : value })}
      />
      {tags.length === 0 ? null : (
        <NativeSelect
          w={130}
          aria-label={texts.tag}
          data={[{ value: '', label: texts.tag }, ...tags]}
          value={search.tag ?? ''}
          onChange={({ currentTarget: { value } }) => show({ tag: value === '' ? undefined : value })}
        />
      )}
      <Views search={search} />
      <Density />
      <span className={list.space} />
      <Button component={Link} to="/pipelines/import" variant="default">
        {texts.importYaml}
      </Button>
      <NewButton />
    </Group>
  )
}

/** All values seen so far: an active filter must not remove the other options. */
function useSeen(
  lines: readonly PipelineLine[],
  valuesOf: (line: PipelineLine) => readonly string[],
  chosen: string | undefined,
): string[] {
  const seen = useRef(new Set<string>())
  for (const line of lines) for (const value of valuesOf(line)) seen.current.add(value)
  if (chosen !== undefined) seen.current.add(chosen)
  return [...seen.current].sort()
}

function Density() {
  const texts = useTexts(pipelinesTexts)
  const isCompact = usePreferences().density === 'compact'
  return (
    <Tip label={texts.compact}>
      <ActionIcon
        size="lg"
        aria-label={texts.compact}
        aria-pressed={isCompact}
        variant={isCompact ? 'light' : 'subtle'}
        className={styles.density}
        onClick={() => setPreferences({ density: isCompact ? 'comfortable' : 'compact' })}
      >
        <Icon name="rows" />
      </ActionIcon>
    </Tip>
  )
}

function NewButton() {
  const texts = useTexts(pipelinesTexts)
  const words = useTexts(shared)
  const { role } = useSession()
  const isAllowed = useMay('admin')
  if (!isAllowed)
    return (
      <Tip label={words.needsRole('admin', role)}>
        <Button data-disabled aria-disabled leftSection={<Icon name="plus" size={14} />}>
          {texts.create}
        </Button>
      </Tip>
    )
  return (
    <Button component={Link} to="/pipelines/new" leftSection={<Icon name="plus" size={14} />}>
      {texts.create}
    </Button>
  )
}

import { Group, Select } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { PipelineLine } from '../../api/wire.js'
import list from '../../components/layout/list.module.css'
import { useTexts } from '../../i18n/texts.js'
import styles from './quarantine.module.css'
import { QUARANTINE_STATUS_FILTERS, type QuarantineSearch, type QuarantineStatusFilter } from './search.js'
import { quarantineTexts } from './texts.js'

interface Props {
  readonly search: QuarantineSearch
  readonly lines: readonly PipelineLine[]
  readonly children: ReactNode
}

export function FilterBar({ search, lines, children }: Props) {
  const texts = useTexts(quarantineTexts)
  const navigate = useNavigate()
  const show = (change: Partial<QuarantineSearch>) =>
    void navigate({ to: '/quarantine', search: { ...search, row: undefined, ...change }, replace: true })
  return (
    <Group gap={8}>
      <Select
        aria-label={texts.pipeline}
        placeholder={texts.pipeline}
        className={styles.filter}
        clearable
        searchable
        data={options(lines).map(({ id, name, quarantined }) => ({
          value: id,
          label: texts.pipelineOption(name, quarantined),
        }))}
        value={search.pipeline ?? null}
        onChange={(pipeline) => show({ pipeline: pipeline ?? undefined })}
      />
      <Select
        aria-label={texts.status}
        className={styles.status}
        allowDeselect={false}
        data={QUARANTINE_STATUS_FILTERS.map((value) => ({ value, label: texts.statuses[value] }))}
        value={search.status ?? 'held'}
        onChange={(value) =>
          show({
            status: value === 'held' ? undefined : ((value as QuarantineStatusFilter | null) ?? undefined),
          })
        }
      />
      <span className={list.space} />
      {children}
    </Group>
  )
}

/** Pipelines with held rows first. */
function options(lines: readonly PipelineLine[]): readonly PipelineLine[] {
  return [...lines].sort((a, b) => b.quarantined - a.quarantined || a.name.localeCompare(b.name))
}

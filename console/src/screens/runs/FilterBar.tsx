import { Group, MultiSelect, Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { overviewQuery } from '../../api/pipelines.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { RangeFilter } from './RangeFilter.js'
import styles from './runs.module.css'
import { RUN_STATUS_FILTERS, type RunsSearch, statusesOf } from './search.js'
import { runsTexts } from './texts.js'

/** Filters are kept in the address: it can be shared, and the back button undoes a change. */
export function FilterBar({ search }: { readonly search: RunsSearch }) {
  const texts = useTexts(runsTexts)
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const { data } = useQuery(overviewQuery())
  const show = (change: Partial<RunsSearch>) =>
    void navigate({ to: '/runs', search: { ...search, ...change }, replace: true })
  const pipelines = (data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))
  const statuses = [...statusesOf(search)]
  useShortcut({ keys: '/', label: texts.focusFilter }, () => input.current?.focus())
  return (
    <Group gap={8}>
      <Select
        ref={input}
        className={styles.pipeline}
        aria-label={texts.pipeline}
        placeholder={texts.pipeline}
        searchable
        clearable
        limit={100}
        data={pipelines}
        value={search.pipeline ?? null}
        onChange={(value) => show({ pipeline: value ?? undefined })}
      />
      <MultiSelect
        className={styles.statuses}
        aria-label={texts.status}
        placeholder={statuses.length === 0 ? texts.status : ''}
        clearable
        data={RUN_STATUS_FILTERS.map((value) => ({ value, label: texts.statuses[value] }))}
        value={statuses}
        onChange={(values) => show({ status: values.length === 0 ? undefined : values.join(',') })}
      />
      <RangeFilter search={search} onChange={show} />
    </Group>
  )
}

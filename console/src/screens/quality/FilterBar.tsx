import { Group, Select } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import list from '../../components/layout/list.module.css'
import { SearchBox } from '../../components/search/SearchBox.js'
import { useTexts } from '../../i18n/texts.js'
import { type QualitySearch, SHOW_FILTERS, type ShowFilter } from './search.js'
import { fleetQualityTexts } from './texts.js'

export function FilterBar({ search }: { readonly search: QualitySearch }) {
  const texts = useTexts(fleetQualityTexts)
  const navigate = useNavigate()
  const show = (change: Partial<QualitySearch>) =>
    void navigate({ to: '/quality', search: { ...search, ...change }, replace: true })
  return (
    <Group gap={8}>
      <SearchBox
        className={list.filter}
        label={texts.filter}
        shortcut={texts.focusFilter}
        value={search.q}
        onChange={(q) => show({ q })}
      />
      <Select
        aria-label={texts.show}
        placeholder={texts.show}
        clearable
        w={220}
        data={SHOW_FILTERS.map((value) => ({ value, label: texts.shows[value] }))}
        value={search.show ?? null}
        onChange={(value) => show({ show: (value as ShowFilter | null) ?? undefined })}
      />
    </Group>
  )
}

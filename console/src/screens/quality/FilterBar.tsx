import { Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import list from '../../components/list.module.css'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'
import { type QualitySearch, SHOW_FILTERS, type ShowFilter } from './search.js'
import { fleetQualityTexts } from './texts.js'

const TYPING_MS = 150

export function FilterBar({ search }: { readonly search: QualitySearch }) {
  const texts = useTexts(fleetQualityTexts)
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const show = (change: Partial<QualitySearch>) =>
    void navigate({ to: '/quality', search: { ...search, ...change }, replace: true })
  const type = useDebouncedCallback((q: string) => show({ q: q === '' ? undefined : q }), TYPING_MS)
  useShortcut('/', texts.focusFilter, () => input.current?.focus())
  return (
    <div className={list.tools}>
      <TextInput
        ref={input}
        key={search.q === undefined ? 'none' : 'some'}
        className={list.filter}
        type="search"
        aria-label={texts.filter}
        placeholder={texts.filter}
        leftSection={<Icon name="search" size={14} />}
        defaultValue={search.q ?? ''}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
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
    </div>
  )
}

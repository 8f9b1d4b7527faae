import { Button, Select, TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { Link, useNavigate } from '@tanstack/react-router'
import { useRef } from 'react'
import { useMay, useSession } from '../../api/session.js'
import { Tip } from '../../components/Tip.js'
import { shared } from '../../components/texts.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'
import styles from './pipelines.module.css'
import { type PipelinesSearch, STATUS_FILTERS, type StatusFilter } from './search.js'
import { pipelinesTexts } from './texts.js'

const TYPING_MS = 250

/** What is shown is in the address: it can be sent to somebody, and the back button undoes it. */
export function FilterBar({ search }: { readonly search: PipelinesSearch }) {
  const texts = useTexts(pipelinesTexts)
  const navigate = useNavigate()
  const input = useRef<HTMLInputElement>(null)
  const show = (change: Partial<PipelinesSearch>) =>
    void navigate({ to: '/pipelines', search: { ...search, ...change }, replace: true })
  const type = useDebouncedCallback((q: string) => show({ q: q === '' ? undefined : q }), TYPING_MS)
  useShortcut('/', texts.focusFilter, () => input.current?.focus())
  return (
    <div className={styles.tools}>
      <TextInput
        ref={input}
        // The address may be changed by the back button too.
        key={search.q === undefined ? 'none' : 'some'}
        className={styles.filter}
        type="search"
        aria-label={texts.filter}
        placeholder={texts.filter}
        leftSection={<Icon name="search" size={14} />}
        defaultValue={search.q ?? ''}
        onChange={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
      />
      <Select
        aria-label={texts.status}
        placeholder={texts.status}
        clearable
        w={170}
        data={STATUS_FILTERS.map((value) => ({ value, label: texts.statuses[value] }))}
        value={search.status ?? null}
        onChange={(value) => show({ status: (value as StatusFilter | null) ?? undefined })}
      />
      <span className={styles.space} />
      <NewButton />
    </div>
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

import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { Icon } from '../../theme/icons.js'

const TYPING_MS = 250

interface Props {
  readonly label: string
  /** The description of the shortcut `/`, which focuses the box. */
  readonly shortcut: string
  readonly value: string | undefined
  /** Called after a pause in typing; undefined: no search. */
  readonly onChange: (text: string | undefined) => void
  readonly className?: string | undefined
  readonly size?: string
  /** The icon; `search` if not given. */
  readonly icon?: 'search' | 'user'
}

/** The filter of a list, in most cases kept in the address. Updates of the value do not disturb typing. */
export function SearchBox({ label, shortcut, value, onChange, className, size, icon = 'search' }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const type = useDebouncedCallback((text: string) => onChange(text === '' ? undefined : text), TYPING_MS)
  useShortcut({ keys: '/', label: shortcut }, () => input.current?.focus())
  useEffect(() => {
    // Changed by the back button or a saved view; not while the user is typing.
    const box = input.current
    if (box !== null && document.activeElement !== box) box.value = value ?? ''
  }, [value])
  return (
    <TextInput
      ref={input}
      className={className}
      {...(size === undefined ? {} : { size })}
      type="search"
      aria-label={label}
      placeholder={label}
      leftSection={<Icon name={icon} size={14} />}
      defaultValue={value ?? ''}
      onChange={(event) => type(event.currentTarget.value.trim())}
      onKeyDown={(event) => event.key === 'Escape' && event.currentTarget.blur()}
    />
  )
}

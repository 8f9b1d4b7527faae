import { TextInput } from '@mantine/core'
import { useDebouncedCallback } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import { useShortcut } from '../keyboard/shortcuts.js'
import { Icon } from '../theme/icons.js'

const TYPING_MS = 250

interface Props {
  readonly label: string
  /** What `/` does, in the help; the box is focused by it. */
  readonly shortcut: string
  readonly value: string | undefined
  /** After a pause in typing; undefined: nothing is looked for. */
  readonly onChange: (text: string | undefined) => void
  readonly className?: string | undefined
  readonly size?: string
  /** What is looked for; `search` when not given. */
  readonly icon?: 'search' | 'user'
}

/** A text that stands in the address. It is typed without being disturbed by the address that follows it. */
export function SearchBox({ label, shortcut, value, onChange, className, size, icon = 'search' }: Props) {
  const input = useRef<HTMLInputElement>(null)
  const type = useDebouncedCallback((text: string) => onChange(text === '' ? undefined : text), TYPING_MS)
  useShortcut('/', shortcut, () => input.current?.focus())
  useEffect(() => {
    // The back button, a saved view: whoever types now knows better.
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

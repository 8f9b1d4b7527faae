import { Button, type ButtonProps } from '@mantine/core'
import type { ComponentPropsWithRef } from 'react'
import { useTexts } from '../../i18n/texts.js'
import { usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import type { PipelinesSearch } from './search.js'
import { pipelinesTexts } from './texts.js'

/** The current filter in its stored form (the same list gives the same text), and the matching view. */
export function useChosenView(search: PipelinesSearch) {
  const { views } = usePreferences()
  const parts = Object.entries(search).filter(([, value]) => value !== undefined)
  const sorted = parts.sort(([a], [b]) => a.localeCompare(b)) as [string, string][]
  const shown = new URLSearchParams(sorted).toString()
  return { shown, chosen: views.find((view) => view.search === shown) }
}

type Props = ButtonProps &
  Omit<ComponentPropsWithRef<'button'>, 'name' | 'color' | 'style'> & { readonly name: string | null }

export function ViewsButton({ name, ...rest }: Props) {
  const { views: texts } = useTexts(pipelinesTexts)
  return (
    <Button
      {...rest}
      variant="default"
      rightSection={<Icon name="down" size={12} />}
      aria-haspopup="menu"
      aria-label={texts.label(name)}
    >
      {name ?? texts.title}
    </Button>
  )
}

import { useMediaQuery } from '@mantine/hooks'
import { usePreferences } from '../preferences/preferences.js'

/** What is shown: the choice, or what the system wants. */
export function useColorScheme(): 'light' | 'dark' {
  const { theme } = usePreferences()
  const systemIsDark = useMediaQuery('(prefers-color-scheme: dark)', undefined, {
    getInitialValueInEffect: false,
  })
  return theme === 'auto' ? (systemIsDark ? 'dark' : 'light') : theme
}

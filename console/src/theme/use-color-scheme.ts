import { useMediaQuery } from '@mantine/hooks'
import { usePreferences } from '../preferences/preferences.js'

/** The effective theme: the user's choice or that of the system. */
export function useColorScheme(): 'light' | 'dark' {
  const { theme } = usePreferences()
  const systemIsDark = useMediaQuery('(prefers-color-scheme: dark)', undefined, {
    getInitialValueInEffect: false,
  })
  return theme === 'auto' ? (systemIsDark ? 'dark' : 'light') : theme
}

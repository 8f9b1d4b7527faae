import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterContextProvider, RouterProvider } from '@tanstack/react-router'
import { useEffect } from 'react'
import { queryClient } from '../api/query-client.js'
import { usePreferences } from '../preferences/preferences.js'
import { theme } from '../theme/theme.js'
import { useColorScheme } from '../theme/use-color-scheme.js'
import { appRouter } from './router.js'
import { SessionGate } from './SessionGate.js'
import { styleNonce } from './style-nonce.js'

export function App() {
  const { language } = usePreferences()
  const scheme = useColorScheme()
  useEffect(() => {
    document.documentElement.lang = language === 'pseudo' ? 'en' : language
  }, [language])
  return (
    <MantineProvider theme={theme} forceColorScheme={scheme} getStyleNonce={styleNonce}>
      <QueryClientProvider client={queryClient}>
        {/* Notifications may contain links, which need the router. */}
        <RouterContextProvider router={appRouter}>
          <Notifications position="bottom-right" limit={4} />
        </RouterContextProvider>
        <SessionGate>
          <RouterProvider router={appRouter} />
        </SessionGate>
      </QueryClientProvider>
    </MantineProvider>
  )
}

import '@mantine/core/styles.layer.css'
import '@mantine/notifications/styles.layer.css'
import './theme/tokens.css'
import './theme/base.css'
import { setNonce } from 'get-nonce'
import { createRoot } from 'react-dom/client'
import { isOffline } from './api/problem.js'
import { signIn } from './api/session.js'
import { App } from './app/App.js'
import { styleNonce } from './app/style-nonce.js'
import { startShortcuts } from './keyboard/shortcuts.js'
import { takeCode } from './screens/sign-in/take-code.js'
import { fontsLoaded } from './theme/fonts.js'

// Dialogs lock the page behind them with a style of their own.
setNonce(styleNonce())
startShortcuts()

const fonts = fontsLoaded()
const code = takeCode()
// A code that is used up or too old leads to the sign-in screen, which says how to go on. A request that got no answer
// did not use it up, most likely.
if (code !== null)
  await signIn({ code }).catch(async (error) => {
    if (isOffline(error)) await signIn({ code }).catch(() => {})
  })

await fonts
createRoot(document.getElementById('root')!).render(<App />)

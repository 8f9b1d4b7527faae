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

// Dialogs lock the page behind them with an injected style.
setNonce(styleNonce())
startShortcuts()

const fonts = fontsLoaded()
const code = takeCode()
// A used or expired code leads to the sign-in screen, which says what to do. A request without a response most likely
// did not use it.
if (code !== null)
  await signIn({ code }).catch(async (error) => {
    if (isOffline(error)) await signIn({ code }).catch(() => {})
  })

await fonts
createRoot(document.getElementById('root')!).render(<App />)

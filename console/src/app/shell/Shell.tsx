import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { SCROLLER_ID } from '../../components/table/DataTable.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { useLiveStream } from '../../live/live.js'
import { startPatching } from '../../live/patches.js'
import { HelpDialog } from '../help/HelpDialog.js'
import { openHelp } from '../help/open-help.js'
import { openPalette, paletteSwitch } from '../palette/open-palette.js'
import { appTexts } from '../texts.js'
import { Announcer } from './Announcer.js'
import { OfflineBanner } from './OfflineBanner.js'
import { Rail } from './Rail.js'
import styles from './shell.module.css'
import { TopBar } from './TopBar.js'

const Palette = lazy(() => import('../palette/Palette.js').then((module) => ({ default: module.Palette })))

/** What stays while screens change. */
export function Shell() {
  const texts = useTexts(appTexts)
  useLiveStream()
  useEffect(startPatching, [])
  useShortcut('mod+k', texts.openPalette, openPalette)
  useShortcut('?', texts.help, openHelp)
  return (
    <div className={styles.shell}>
      <a href={`#${SCROLLER_ID}`} className={styles.skip}>
        {texts.skip}
      </a>
      <Rail />
      <TopBar />
      <main id={SCROLLER_ID} className={styles.main} tabIndex={-1}>
        <OfflineBanner />
        <Outlet />
      </main>
      <LazyPalette />
      <HelpDialog />
      <Announcer />
    </div>
  )
}

/** Loaded when it is first asked for, and kept. */
function LazyPalette() {
  const isWanted = paletteSwitch.use()
  const [wasWanted, remember] = useState(false)
  useEffect(() => {
    if (isWanted) remember(true)
  }, [isWanted])
  if (!isWanted && !wasWanted) return null
  return (
    <Suspense fallback={null}>
      <Palette />
    </Suspense>
  )
}

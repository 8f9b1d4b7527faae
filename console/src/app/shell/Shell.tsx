import { Outlet } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { SCROLLER_ID } from '../../components/table/DataTable.js'
import { useTexts } from '../../i18n/texts.js'
import { useShortcut } from '../../keyboard/shortcuts.js'
import { useLiveStream } from '../../live/live.js'
import { startPatching } from '../../live/patches.js'
import { helpSwitch, openHelp } from '../help/open-help.js'
import { openPalette, paletteSwitch } from '../palette/open-palette.js'
import type { Switch } from '../switch.js'
import { appTexts } from '../texts.js'
import { Announcer } from './Announcer.js'
import { OfflineBanner } from './OfflineBanner.js'
import { Rail } from './Rail.js'
import styles from './shell.module.css'
import { TopBar } from './TopBar.js'

const Palette = lazy(() => import('../palette/Palette.js').then((module) => ({ default: module.Palette })))

const HelpDialog = lazy(() =>
  import('../help/HelpDialog.js').then((module) => ({ default: module.HelpDialog })),
)

/** The frame around all screens. */
export function Shell() {
  const texts = useTexts(appTexts)
  useLiveStream()
  useEffect(startPatching, [])
  useShortcut({ keys: 'mod+k', label: texts.openPalette }, openPalette)
  useShortcut({ keys: '?', label: texts.help }, openHelp)
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
      <WhenWanted by={paletteSwitch} show={<Palette />} />
      <WhenWanted by={helpSwitch} show={<HelpDialog />} />
      <Announcer />
    </div>
  )
}

/** Loaded when it is first opened, and kept. */
function WhenWanted({ by, show }: { readonly by: Switch; readonly show: ReactNode }) {
  const isWanted = by.use()
  const [wasWanted, remember] = useState(false)
  useEffect(() => {
    if (isWanted) remember(true)
  }, [isWanted])
  return isWanted || wasWanted ? <Suspense fallback={null}>{show}</Suspense> : null
}

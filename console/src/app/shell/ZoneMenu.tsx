import { Menu } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { useLanguage, useTexts } from '../../i18n/texts.js'
import { setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import { BROWSER_ZONE, zoneLabel, zoneName } from '../../time/zone.js'
import { appTexts } from '../texts.js'
import { Choice } from './menus.js'
import styles from './shell.module.css'

// Loaded with the menu: few users select a time zone by name, and never during the first load.
const ZonePicker = lazy(() => import('./ZonePicker.js').then((module) => ({ default: module.ZonePicker })))

/** One switch for every list, chart, log and input. Its label follows every time on the page. */
export function ZoneMenu() {
  const texts = useTexts(appTexts)
  const language = useLanguage()
  const { zone } = usePreferences()
  const [isOpen, open] = useState(false)
  const choose = (next: string) => {
    setPreferences({ zone: next })
    open(false)
  }
  const isOther = zone !== 'utc' && zone !== 'browser'
  return (
    <Menu opened={isOpen} onChange={open} closeOnItemClick={false}>
      <Menu.Target>
        <button
          type="button"
          className={`${styles.tool} ${styles.wide}`}
          aria-label={`${texts.zone}: ${zoneName(zone)}`}
        >
          {zoneLabel(zoneName(zone), Date.now(), language)}
          <Icon name="down" size={12} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Choice isChosen={zone === 'utc'} onChoose={() => choose('utc')}>
          UTC
        </Choice>
        <Choice isChosen={zone === 'browser'} onChoose={() => choose('browser')}>
          {texts.zoneBrowser(BROWSER_ZONE)}
        </Choice>
        <Menu.Divider />
        <Suspense fallback={null}>
          <ZonePicker value={isOther ? zone : null} onChoose={choose} />
        </Suspense>
      </Menu.Dropdown>
    </Menu>
  )
}

import { Kbd } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useTexts } from '../../i18n/texts.js'
import { Icon } from '../../theme/icons.js'
import { useCrumbs } from '../page.js'
import { openPalette } from '../palette/open-palette.js'
import { appTexts } from '../texts.js'
import { AccountMenu } from './AccountMenu.js'
import { LiveIndicator } from './LiveIndicator.js'
import { LanguageMenu, ThemeMenu } from './menus.js'
import styles from './shell.module.css'
import { ZoneMenu } from './ZoneMenu.js'

const COMMAND = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘ K' : 'Ctrl K'

export function TopBar() {
  const texts = useTexts(appTexts)
  return (
    <header className={styles.bar}>
      <Crumbs />
      <span className={styles.space} />
      <button type="button" className={styles.search} onClick={openPalette} aria-label={texts.openPalette}>
        <Icon name="search" size={14} />
        <span>{texts.search}</span>
        <Kbd size="xs">{COMMAND}</Kbd>
      </button>
      <LiveIndicator />
      <ZoneMenu />
      <LanguageMenu />
      <ThemeMenu />
      <AccountMenu />
    </header>
  )
}

function Crumbs() {
  const texts = useTexts(appTexts)
  const crumbs = useCrumbs()
  return (
    <nav aria-label={texts.path} style={{ minWidth: 0 }}>
      <ol className={styles.crumbs}>
        {crumbs.map(({ label, to }) => (
          <li key={label}>
            {to === undefined ? (
              <span className={styles.here} aria-current="page">
                {label}
              </span>
            ) : (
              <>
                <Link to={to}>{label}</Link>
                <Icon name="right" size={12} className="v-soft" />
              </>
            )}
          </li>
        ))}
      </ol>
    </nav>
  )
}

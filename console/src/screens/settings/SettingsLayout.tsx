import { Link, Outlet } from '@tanstack/react-router'
import { Page } from '../../app/shell/Page.js'
import { useTexts } from '../../i18n/texts.js'
import styles from './settings.module.css'
import { settingsTexts } from './texts.js'

const TABS = ['connections', 'tokens', 'audit', 'about'] as const

export function SettingsLayout() {
  const texts = useTexts(settingsTexts)
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <nav className={styles.tabs} aria-label={texts.tabsLabel}>
        {TABS.map((tab) => (
          <Link
            key={tab}
            to={`/settings/${tab}`}
            className={styles.tab}
            activeOptions={{ includeSearch: false }}
          >
            {texts.tabs[tab]}
          </Link>
        ))}
      </nav>
      <Outlet />
    </Page>
  )
}

import { Link, Outlet } from '@tanstack/react-router'
import { Page } from '../../app/shell/Page.js'
import { Tabs } from '../../components/layout/Tabs.js'
import { useTexts } from '../../i18n/texts.js'
import { settingsTexts } from './texts.js'

const TABS = ['connections', 'notifications', 'tokens', 'sessions', 'audit', 'about'] as const

export function SettingsLayout() {
  const texts = useTexts(settingsTexts)
  return (
    <Page>
      <h1 className="v-heard-only">{texts.title}</h1>
      <Tabs label={texts.tabsLabel}>
        {TABS.map((tab) => (
          <Link key={tab} to={`/settings/${tab}`} activeOptions={{ includeSearch: false }}>
            {texts.tabs[tab]}
          </Link>
        ))}
      </Tabs>
      <Outlet />
    </Page>
  )
}

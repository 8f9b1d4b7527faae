import { usePage } from '../../app/page.js'
import { useTexts } from '../../i18n/texts.js'
import { settingsTexts } from './texts.js'

export function useSettingsPage(tab: keyof (typeof settingsTexts)['en']['tabs']): void {
  const { title, tabs } = useTexts(settingsTexts)
  usePage({ title: [tabs[tab], title], path: [{ label: title, to: '/settings' }, { label: tabs[tab] }] })
}

import { Menu } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { signOut, useSession } from '../../api/session.js'
import { useFormat } from '../../i18n/format.js'
import { useTexts } from '../../i18n/texts.js'
import { setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import { openHelp } from '../help/open-help.js'
import { appTexts } from '../texts.js'
import { Choice } from './menus.js'
import styles from './shell.module.css'

/** The signed-in user. On a phone also language and theme, which do not fit into the bar. */
export function AccountMenu() {
  const texts = useTexts(appTexts)
  const format = useFormat()
  const { name, role, expires_at, version } = useSession()
  const { shortcuts, language, theme } = usePreferences()
  return (
    <Menu width={240}>
      <Menu.Target>
        <button type="button" className={styles.tool} aria-label={`${texts.account}: ${name}, ${role}`}>
          <Icon name="user" />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <strong>{name}</strong> · {role}
          {expires_at === null ? null : <div>{texts.sessionUntil(format.moment(expires_at))}</div>}
        </Menu.Label>
        <Menu.Divider />
        <Choice isChosen={shortcuts} onChoose={() => setPreferences({ shortcuts: !shortcuts })}>
          {texts.shortcutsOn}
        </Choice>
        <Menu.Item leftSection={<Icon name="keyboard" size={14} />} onClick={openHelp}>
          {texts.help}
        </Menu.Item>
        <Menu.Item
          leftSection={<Icon name="external" size={14} />}
          component="a"
          href="/docs"
          target="_blank"
        >
          {texts.apiReference}
        </Menu.Item>
        <Menu.Item
          hiddenFrom="sm"
          onClick={() => setPreferences({ language: language === 'ru' ? 'en' : 'ru' })}
          leftSection={<Icon name="globe" size={14} />}
        >
          {language === 'ru' ? 'English' : 'Русский'}
        </Menu.Item>
        <Menu.Item
          hiddenFrom="sm"
          onClick={() => setPreferences({ theme: theme === 'dark' ? 'light' : 'dark' })}
          leftSection={<Icon name="contrast" size={14} />}
        >
          {texts.themes[theme === 'dark' ? 'light' : 'dark']}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="user" size={14} />} component={Link} to="/settings/sessions">
          {texts.sessions}
        </Menu.Item>
        <Menu.Item leftSection={<Icon name="signOut" size={14} />} onClick={() => void signOut()}>
          {texts.signOut}
        </Menu.Item>
        <Menu.Label>{texts.version(version)}</Menu.Label>
      </Menu.Dropdown>
    </Menu>
  )
}

import { Menu } from '@mantine/core'
import { useTexts } from '../../i18n/texts.js'
import { type Preferences, setPreferences, usePreferences } from '../../preferences/preferences.js'
import { Icon } from '../../theme/icons.js'
import { appTexts } from '../texts.js'
import styles from './shell.module.css'

const LANGUAGES = { en: 'English', ru: 'Русский' } as const

export function LanguageMenu() {
  const texts = useTexts(appTexts)
  const { language } = usePreferences()
  return (
    <Menu>
      <Menu.Target>
        <button type="button" className={`${styles.tool} ${styles.wide}`} aria-label={texts.language}>
          {language.slice(0, 2).toUpperCase()}
          <Icon name="down" size={12} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {(['en', 'ru'] as const).map((each) => (
          <Choice key={each} isChosen={language === each} onChoose={() => setPreferences({ language: each })}>
            {LANGUAGES[each]}
          </Choice>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

const THEMES = { auto: 'contrast', light: 'sun', dark: 'moon' } as const

export function ThemeMenu() {
  const texts = useTexts(appTexts)
  const { theme } = usePreferences()
  return (
    <Menu>
      <Menu.Target>
        <button type="button" className={`${styles.tool} ${styles.wide}`} aria-label={texts.theme}>
          <Icon name={THEMES[theme]} />
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {(Object.keys(THEMES) as Preferences['theme'][]).map((each) => (
          <Choice key={each} isChosen={theme === each} onChoose={() => setPreferences({ theme: each })}>
            {texts.themes[each]}
          </Choice>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}

interface ChoiceProps {
  readonly isChosen: boolean
  readonly onChoose: () => void
  readonly children: string
}

export function Choice({ isChosen, onChoose, children }: ChoiceProps) {
  return (
    <Menu.Item
      onClick={onChoose}
      leftSection={isChosen ? <Icon name="check" size={14} /> : <span style={{ width: 14 }} />}
      aria-current={isChosen || undefined}
    >
      {children}
    </Menu.Item>
  )
}

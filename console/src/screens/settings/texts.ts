import { defineTexts } from '../../i18n/texts.js'

export const settingsTexts = defineTexts(
  {
    title: 'Settings',
    tabsLabel: 'Parts of the settings',
    tabs: {
      connections: 'Connections',
      tokens: 'Tokens',
      sessions: 'Sessions',
      audit: 'Audit',
      about: 'About',
    },
    notAllowed: {
      tokens: 'Tokens are for administrators',
      audit: 'The audit is for administrators',
      settings: 'Settings in force',
    },
  },
  {
    title: 'Настройки',
    tabsLabel: 'Разделы настроек',
    tabs: {
      connections: 'Подключения',
      tokens: 'Токены',
      sessions: 'Сеансы',
      audit: 'Аудит',
      about: 'О системе',
    },
    notAllowed: {
      tokens: 'Токены доступны администраторам',
      audit: 'Аудит доступен администраторам',
      settings: 'Действующие настройки',
    },
  },
)

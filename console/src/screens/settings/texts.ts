import { defineTexts } from '../../i18n/texts.js'

export const settingsTexts = defineTexts(
  {
    title: 'Settings',
    tabsLabel: 'Settings sections',
    tabs: {
      connections: 'Connections',
      notifications: 'Notifications',
      tokens: 'Tokens',
      sessions: 'Sessions',
      audit: 'Audit',
      about: 'About',
    },
    notAllowed: {
      tokens: 'Tokens are available to administrators only',
      audit: 'The audit log is available to administrators only',
      settings: 'Effective settings are available to administrators only',
    },
  },
  {
    title: 'Настройки',
    tabsLabel: 'Разделы настроек',
    tabs: {
      connections: 'Подключения',
      notifications: 'Уведомления',
      tokens: 'Токены',
      sessions: 'Сеансы',
      audit: 'Аудит',
      about: 'О системе',
    },
    notAllowed: {
      tokens: 'Токены доступны только администраторам',
      audit: 'Журнал аудита доступен только администраторам',
      settings: 'Действующие настройки доступны только администраторам',
    },
  },
)

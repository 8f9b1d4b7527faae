import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const tokensTexts = defineTexts(
  {
    title: 'Tokens',
    intro:
      'A token identifies a program or a person; its role defines the permissions. There are no other accounts. The administrator token (VITRINA_API_TOKEN) is not listed.',
    create: 'Create token',
    columns: {
      name: 'Name',
      role: 'Role',
      createdBy: 'Created by',
      lastUsed: 'Last used',
      expires: 'Expires',
      actions: 'Actions',
    },
    never: 'never',
    from: (address: string) => `from ${address}`,
    state: { valid: 'valid', ending: 'expires soon', expired: 'expired', revoked: 'revoked' },
    own: 'current session',
    oldWorks: 'old value valid until',
    rotate: 'Rotate',
    revoke: 'Revoke',
    rotateOf: (name: string) => `Rotate ${name}`,
    revokeOf: (name: string) => `Revoke ${name}`,
    hasEnded: 'Already expired or revoked.',
    showEnded: (n: number) => pluralEn(n, 'Show # inactive token', 'Show # inactive tokens'),
    hideEnded: 'Hide inactive tokens',
    older: 'Load older tokens',
    endingSoon: (n: number) =>
      pluralEn(n, '# token expires within two weeks', '# tokens expire within two weeks'),
    empty: {
      title: 'No tokens yet',
      text: 'Create a separate token with the least privileged role for every program: the audit log then shows who did what, and you can revoke one token without affecting the others.',
    },
    form: {
      name: 'Name',
      nameHint: 'What the token is for, for example airflow, grafana or ci. Shown in the audit log.',
      nameMissing: 'Enter a name.',
      role: 'Role',
      roles: {
        viewer:
          'Reads pipelines, runs, quarantine, events and metrics. Validates saved pipelines and compares row counts.',
        operator:
          'Also validates and previews queries, compares rows, and runs, pauses, cancels, enables, resets and repairs pipelines.',
        admin: 'Also creates, changes and deletes pipelines, manages tokens and reads the audit log.',
      },
      expires: 'Expires',
      create: 'Create',
    },
    expiry: { keep: 'unchanged', d30: 'in 30 days', d90: 'in 90 days', d365: 'in a year', never: 'never' },
    confirmation: {
      label: 'Your own token',
      hint: 'The token you signed in with. Creating and rotating tokens requires it again.',
      missing: 'Enter your token.',
    },
    rotation: {
      text: 'The token gets a new value, which is shown once. Name, role and history are kept. Browsers that signed in with the old value are signed out when it expires, except this one.',
      grace: 'Old value remains valid',
      graces: {
        none: 'not at all',
        h1: 'for one hour',
        d1: 'for one day',
        d7: 'for seven days',
      },
      graceHint: 'Time to distribute the new value. If the old value has leaked, choose “not at all”.',
      rotate: 'Rotate',
    },
    revocation: {
      text: (name: string) =>
        `${name} stops working immediately and cannot be restored. Requests that use it are rejected.`,
      neverUsed: 'Never used.',
      lastUsed: 'Last used',
      own: 'You are signed in with this token: you will be signed out.',
      revoke: 'Revoke',
    },
    value: {
      created: (name: string) => `Token ${name}`,
      rotated: (name: string) => `New value of ${name}`,
      once: 'This value is shown only once and cannot be retrieved later. Store it in a safe place.',
      token: 'Token',
      curl: 'Example',
      close: 'Done',
    },
    didCreate: (name: string) => `Token ${name} created.`,
    didRotate: (name: string) => `Token ${name} rotated.`,
    didRevoke: (name: string) => `Token ${name} revoked.`,
  },
  {
    title: 'Токены',
    intro:
      'Токен определяет программу или человека, роль — его права. Других учётных записей нет. Токен администратора (VITRINA_API_TOKEN) в списке не показан.',
    create: 'Создать токен',
    columns: {
      name: 'Имя',
      role: 'Роль',
      createdBy: 'Создал',
      lastUsed: 'Использован',
      expires: 'Действует до',
      actions: 'Действия',
    },
    never: 'никогда',
    from: (address: string) => `с адреса ${address}`,
    state: { valid: 'действует', ending: 'скоро истекает', expired: 'истёк', revoked: 'отозван' },
    own: 'текущий сеанс',
    oldWorks: 'старое значение действует до',
    rotate: 'Обновить',
    revoke: 'Отозвать',
    rotateOf: (name: string) => `Обновить ${name}`,
    revokeOf: (name: string) => `Отозвать ${name}`,
    hasEnded: 'Уже истёк или отозван.',
    showEnded: (n: number) =>
      pluralRu(n, 'Показать # недействующий', 'Показать # недействующих', 'Показать # недействующих'),
    hideEnded: 'Скрыть недействующие',
    older: 'Загрузить более ранние токены',
    endingSoon: (n: number) =>
      pluralRu(
        n,
        '# токен истекает в ближайшие две недели',
        '# токена истекают в ближайшие две недели',
        '# токенов истекают в ближайшие две недели',
      ),
    empty: {
      title: 'Токенов пока нет',
      text: 'Создайте для каждой программы отдельный токен с минимальной ролью: тогда журнал аудита покажет, кто что сделал, а один токен можно отозвать, не затронув остальные.',
    },
    form: {
      name: 'Имя',
      nameHint: 'Назначение токена, например airflow, grafana или ci. Имя видно в журнале аудита.',
      nameMissing: 'Введите имя.',
      role: 'Роль',
      roles: {
        viewer:
          'Читает пайплайны, запуски, карантин, события и метрики. Проверяет сохранённые пайплайны, сравнивает количество строк.',
        operator:
          'Также проверяет и просматривает запросы, сравнивает строки; запускает, приостанавливает, отменяет, включает, сбрасывает и исправляет.',
        admin: 'Также создаёт, меняет и удаляет пайплайны, управляет токенами, читает журнал аудита.',
      },
      expires: 'Срок действия',
      create: 'Создать',
    },
    expiry: {
      keep: 'без изменений',
      d30: '30 дней',
      d90: '90 дней',
      d365: 'один год',
      never: 'бессрочно',
    },
    confirmation: {
      label: 'Ваш токен',
      hint: 'Токен, с которым вы вошли. Для создания и обновления токенов его нужно ввести ещё раз.',
      missing: 'Введите свой токен.',
    },
    rotation: {
      text: 'Токен получит новое значение, оно будет показано один раз. Имя, роль и история сохранятся. Сеансы браузеров со старым значением завершатся вместе с ним, кроме этого.',
      grace: 'Старое значение',
      graces: {
        none: 'не действует',
        h1: 'действует ещё час',
        d1: 'действует ещё день',
        d7: 'действует ещё семь дней',
      },
      graceHint:
        'Время на распространение нового значения. Если старое значение скомпрометировано, выберите «не действует».',
      rotate: 'Обновить',
    },
    revocation: {
      text: (name: string) =>
        `${name} перестанет действовать сразу, восстановить его нельзя. Запросы с ним будут отклонены.`,
      neverUsed: 'Не использовался.',
      lastUsed: 'Последнее использование',
      own: 'Вы вошли с этим токеном: ваш сеанс завершится.',
      revoke: 'Отозвать',
    },
    value: {
      created: (name: string) => `Токен ${name}`,
      rotated: (name: string) => `Новое значение ${name}`,
      once: 'Значение показывается только один раз, узнать его позже нельзя. Сохраните его в надёжном месте.',
      token: 'Токен',
      curl: 'Пример',
      close: 'Готово',
    },
    didCreate: (name: string) => `Токен ${name} создан.`,
    didRotate: (name: string) => `Токен ${name} обновлён.`,
    didRevoke: (name: string) => `Токен ${name} отозван.`,
  },
)

import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const tokensTexts = defineTexts(
  {
    title: 'Tokens',
    intro:
      'A token says who a program or a person is, and its role what they may do. There are no accounts besides. The administrator’s own token comes from VITRINA_API_TOKEN and is not listed.',
    create: 'Create a token',
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
    state: { valid: 'valid', ending: 'ends soon', expired: 'expired', revoked: 'revoked' },
    own: 'you are signed in with it',
    oldWorks: 'old value works until',
    rotate: 'Rotate',
    revoke: 'Revoke',
    rotateOf: (name: string) => `Rotate ${name}`,
    revokeOf: (name: string) => `Revoke ${name}`,
    hasEnded: 'It has ended already.',
    showEnded: (n: number) => pluralEn(n, 'Show # that has ended', 'Show # that have ended'),
    hideEnded: 'Hide those that have ended',
    older: 'Older tokens',
    endingSoon: (n: number) => pluralEn(n, '# token ends within two weeks', '# tokens end within two weeks'),
    empty: {
      title: 'No tokens yet',
      text: 'Give every program a token of its own, with the least role that does: then the audit says who did what, and one can be revoked without touching the others.',
    },
    form: {
      name: 'Name',
      nameHint: 'What it is for: airflow, grafana, ci. It stands in the audit.',
      nameMissing: 'Give it a name.',
      role: 'Role',
      roles: {
        viewer:
          'Reads: pipelines, runs, quarantine, events, metrics. Validates saved pipelines, compares counts.',
        operator:
          'Also validates and previews queries, compares rows; runs, pauses, cancels, enables, resets and repairs.',
        admin: 'Also creates, changes and deletes pipelines; tokens; audit.',
      },
      expires: 'Expires',
      create: 'Create',
    },
    expiry: { keep: 'as before', d30: 'in 30 days', d90: 'in 90 days', d365: 'in a year', never: 'never' },
    confirmation: {
      label: 'Your own token',
      hint: 'The one you signed in with. Being signed in is not enough to make or rotate tokens.',
      missing: 'Enter your token.',
    },
    rotation: {
      text: 'It gets a new value, which is shown once. Name, role and history stay. Browsers that signed in with the old value are signed out with it; this one stays.',
      grace: 'The old value works',
      graces: {
        none: 'no longer: it ends at once',
        h1: 'one more hour',
        d1: 'one more day',
        d7: 'seven more days',
      },
      graceHint: 'Time to tell the new value to everybody who uses it. If the old one leaked, give it none.',
      rotate: 'Rotate',
    },
    revocation: {
      text: (name: string) =>
        `${name} ends at once, and cannot be brought back. Whatever uses it is refused from then on.`,
      neverUsed: 'It was never used.',
      lastUsed: 'It was last used',
      own: 'You are signed in with this token: you will be signed out.',
      revoke: 'Revoke',
    },
    value: {
      created: (name: string) => `Token ${name}`,
      rotated: (name: string) => `New value of ${name}`,
      once: 'This value is shown only now. Nobody can look it up later, not even an administrator: keep it where the program finds it.',
      token: 'Token',
      curl: 'Try it',
      close: 'I have kept it',
    },
    didCreate: (name: string) => `Token ${name} was created.`,
    didRotate: (name: string) => `Token ${name} was rotated.`,
    didRevoke: (name: string) => `Token ${name} was revoked.`,
  },
  {
    title: 'Токены',
    intro:
      'Токен говорит, кто эта программа или человек, а его роль — что им можно. Других учётных записей нет. Собственный токен администратора берётся из VITRINA_API_TOKEN, в списке его нет.',
    create: 'Создать токен',
    columns: {
      name: 'Имя',
      role: 'Роль',
      createdBy: 'Создал',
      lastUsed: 'Использован',
      expires: 'Действует',
      actions: 'Действия',
    },
    never: 'никогда',
    from: (address: string) => `с адреса ${address}`,
    state: { valid: 'действует', ending: 'скоро кончится', expired: 'истёк', revoked: 'отозван' },
    own: 'вы вошли с ним',
    oldWorks: 'старое значение до',
    rotate: 'Обновить',
    revoke: 'Отозвать',
    rotateOf: (name: string) => `Обновить ${name}`,
    revokeOf: (name: string) => `Отозвать ${name}`,
    hasEnded: 'Он уже не действует.',
    showEnded: (n: number) =>
      pluralRu(n, 'Показать # недействующий', 'Показать # недействующих', 'Показать # недействующих'),
    hideEnded: 'Скрыть недействующие',
    older: 'Более ранние токены',
    endingSoon: (n: number) =>
      pluralRu(
        n,
        '# токен кончится в ближайшие две недели',
        '# токена кончатся в ближайшие две недели',
        '# токенов кончатся в ближайшие две недели',
      ),
    empty: {
      title: 'Токенов ещё нет',
      text: 'Дайте каждой программе свой токен с наименьшей достаточной ролью: тогда аудит скажет, кто что сделал, и один можно отозвать, не трогая остальных.',
    },
    form: {
      name: 'Имя',
      nameHint: 'Для чего он: airflow, grafana, ci. Это имя попадёт в аудит.',
      nameMissing: 'Дайте ему имя.',
      role: 'Роль',
      roles: {
        viewer:
          'Читает: пайплайны, запуски, карантин, события, метрики. Проверяет сохранённые пайплайны, сверяет количество строк.',
        operator:
          'Ещё проверяет и показывает любые запросы, сверяет строки; запускает, ставит на паузу, отменяет, включает, сбрасывает, чинит.',
        admin: 'Ещё создаёт, меняет и удаляет пайплайны; токены; аудит.',
      },
      expires: 'Действует до',
      create: 'Создать',
    },
    expiry: {
      keep: 'как раньше',
      d30: '30 дней',
      d90: '90 дней',
      d365: 'один год',
      never: 'бессрочно',
    },
    confirmation: {
      label: 'Ваш токен',
      hint: 'Тот, с которым вы вошли. Чтобы создавать и обновлять токены, одного входа мало.',
      missing: 'Введите свой токен.',
    },
    rotation: {
      text: 'Он получит новое значение, его покажут один раз. Имя, роль и история останутся. Браузеры, вошедшие со старым значением, выйдут вместе с ним; этот останется.',
      grace: 'Старое значение',
      graces: { none: 'больше не действует', h1: 'ещё один час', d1: 'ещё один день', d7: 'ещё семь дней' },
      graceHint:
        'Время, чтобы передать новое значение всем, кто им пользуется. Если старое утекло, не давайте его.',
      rotate: 'Обновить',
    },
    revocation: {
      text: (name: string) =>
        `${name} перестанет действовать сразу и навсегда. Всем, кто им пользуется, будет отказано.`,
      neverUsed: 'Им ни разу не пользовались.',
      lastUsed: 'Последний раз им пользовались',
      own: 'Вы вошли с этим токеном и выйдете из консоли.',
      revoke: 'Отозвать',
    },
    value: {
      created: (name: string) => `Токен ${name}`,
      rotated: (name: string) => `Новое значение ${name}`,
      once: 'Это значение показано только сейчас. Позже его не узнает никто, даже администратор: сохраните его там, где его найдёт программа.',
      token: 'Токен',
      curl: 'Проверьте',
      close: 'Значение сохранено',
    },
    didCreate: (name: string) => `Токен ${name} создан.`,
    didRotate: (name: string) => `Токен ${name} обновлён.`,
    didRevoke: (name: string) => `Токен ${name} отозван.`,
  },
)

import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const runnersTexts = defineTexts(
  {
    title: 'Runners',
    columns: {
      runner: 'Runner',
      state: 'State',
      slots: 'Slots',
      holds: 'Works on',
      version: 'Version',
      started: 'Started',
    },
    alive: 'alive',
    silent: 'silent',
    ended: 'ended',
    process: (pid: number) => `process ${pid}`,
    slots: (busy: number, all: number) => `${busy} of ${all} busy`,
    slotsFew: (busy: number, all: number) => `${busy}/${all}`,
    nothing: 'nothing',
    run: (name: string) => `Run of ${name}`,
    showEnded: (n: number) => pluralEn(n, 'Show # runner that ended', 'Show # runners that ended'),
    hideEnded: 'Hide runners that ended',
    empty: {
      title: 'No runner has started yet',
      text: 'A runner takes what is due and moves the rows. Any number of them share the work; each needs only the address of the database.',
    },
  },
  {
    title: 'Исполнители',
    columns: {
      runner: 'Исполнитель',
      state: 'Состояние',
      slots: 'Места',
      holds: 'Чем занят',
      version: 'Версия',
      started: 'Запущен',
    },
    alive: 'на связи',
    silent: 'молчит',
    ended: 'завершён',
    process: (pid: number) => `процесс ${pid}`,
    slots: (busy: number, all: number) => `занято ${busy} из ${all}`,
    slotsFew: (busy: number, all: number) => `${busy}/${all}`,
    nothing: 'ничем',
    run: (name: string) => `Запуск ${name}`,
    showEnded: (n: number) =>
      pluralRu(
        n,
        'Показать # завершённого исполнителя',
        'Показать # завершённых исполнителей',
        'Показать # завершённых исполнителей',
      ),
    hideEnded: 'Скрыть завершённых',
    empty: {
      title: 'Исполнителей ещё не было',
      text: 'Исполнитель берёт то, чему пора, и переносит строки. Их может быть сколько угодно; каждому нужен только адрес базы.',
    },
  },
)

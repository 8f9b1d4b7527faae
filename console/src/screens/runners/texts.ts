import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const runnersTexts = defineTexts(
  {
    title: 'Runners',
    columns: {
      runner: 'Runner',
      state: 'State',
      slots: 'Slots',
      holds: 'Pipelines',
      version: 'Version',
      started: 'Started',
    },
    alive: 'alive',
    silent: 'unresponsive',
    ended: 'stopped',
    process: (pid: number) => `process ${pid}`,
    slots: (busy: number, all: number) => `${busy} of ${all} busy`,
    slotsFew: (busy: number, all: number) => `${busy}/${all}`,
    nothing: 'none',
    run: (name: string) => `Run of ${name}`,
    showEnded: (n: number) => pluralEn(n, 'Show # stopped runner', 'Show # stopped runners'),
    hideEnded: 'Hide stopped runners',
    empty: {
      title: 'No runners yet',
      text: 'A runner claims due pipelines and executes them. Start any number of runners; each needs only the database URL.',
    },
  },
  {
    title: 'Раннеры',
    columns: {
      runner: 'Раннер',
      state: 'Состояние',
      slots: 'Слоты',
      holds: 'Пайплайны',
      version: 'Версия',
      started: 'Запущен',
    },
    alive: 'работает',
    silent: 'не отвечает',
    ended: 'остановлен',
    process: (pid: number) => `процесс ${pid}`,
    slots: (busy: number, all: number) => `занято ${busy} из ${all}`,
    slotsFew: (busy: number, all: number) => `${busy}/${all}`,
    nothing: 'нет',
    run: (name: string) => `Запуск ${name}`,
    showEnded: (n: number) =>
      pluralRu(
        n,
        'Показать # остановленный раннер',
        'Показать # остановленных раннера',
        'Показать # остановленных раннеров',
      ),
    hideEnded: 'Скрыть остановленные',
    empty: {
      title: 'Раннеров пока нет',
      text: 'Раннер берёт пайплайны из очереди и выполняет их. Раннеров может быть сколько угодно; каждому нужен только адрес базы данных.',
    },
  },
)

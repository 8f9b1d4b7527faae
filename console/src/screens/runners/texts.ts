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
    why: {
      nobody: (queued: number) =>
        queued === 0
          ? 'No runner is alive, so nothing will run. Start one:'
          : `${pluralEn(queued, '# pipeline waits', '# pipelines wait')}, and no runner is alive to take ${queued === 1 ? 'it' : 'them'}. Start one:`,
      busy: (queued: number, slots: number) =>
        `${pluralEn(queued, '# pipeline waits', '# pipelines wait')}: ${pluralEn(slots, 'the only slot is busy', 'all # slots are busy')}. More runners, or a higher RUNNER_CONCURRENCY, would take more at once.`,
      soon: (queued: number) =>
        `${pluralEn(queued, '# pipeline waits', '# pipelines wait')} and slots are free: a runner takes the next one within its poll interval.`,
      calm: (alive: number, busy: number, slots: number) =>
        `Nothing waits. ${pluralEn(alive, '# runner is alive', '# runners are alive')}, ${busy} of ${pluralEn(slots, '# slot', '# slots')} busy.`,
    },
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
    why: {
      nobody: (queued: number) =>
        queued === 0
          ? 'Ни одного исполнителя на связи: ничего не запустится. Запустите:'
          : `${pluralRu(queued, 'Ждёт # пайплайн', 'Ждут # пайплайна', 'Ждут # пайплайнов')}, а взять некому: исполнителей нет на связи. Запустите:`,
      busy: (queued: number, slots: number) =>
        `${pluralRu(queued, 'Ждёт # пайплайн', 'Ждут # пайплайна', 'Ждут # пайплайнов')}: ${pluralRu(slots, 'занято # место', 'заняты все # места', 'заняты все # мест')}. Больше исполнителей или больший RUNNER_CONCURRENCY возьмут больше сразу.`,
      soon: (queued: number) =>
        `${pluralRu(queued, 'Ждёт # пайплайн', 'Ждут # пайплайна', 'Ждут # пайплайнов')}, места есть: исполнитель возьмёт следующий при очередном опросе.`,
      calm: (alive: number, busy: number, slots: number) =>
        `Ничего не ждёт. ${pluralRu(alive, 'На связи # исполнитель', 'На связи # исполнителя', 'На связи # исполнителей')}, занято ${busy} из ${pluralRu(slots, '# места', '# мест', '# мест')}.`,
    },
    empty: {
      title: 'Исполнителей ещё не было',
      text: 'Исполнитель берёт то, чему пора, и переносит строки. Их может быть сколько угодно; каждому нужен только адрес базы.',
    },
  },
)

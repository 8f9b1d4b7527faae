import { defineTexts, pluralEn, pluralRu } from '../i18n/texts.js'

/** Why nothing runs, or that nothing has to. */
export const fleetTexts = defineTexts(
  {
    nobody: (queued: number) =>
      queued === 0
        ? 'No runner is alive, so nothing will run. Start one:'
        : `${pluralEn(queued, '# pipeline waits', '# pipelines wait')}, and no runner is alive to take ${queued === 1 ? 'it' : 'them'}. Start one:`,
    busy: (queued: number, slots: number) =>
      `${pluralEn(queued, '# pipeline waits', '# pipelines wait')}: ${pluralEn(slots, 'the only slot is busy', 'all # slots are busy')}. More runners, or a higher RUNNER_CONCURRENCY, would take more at once.`,
    soon: (queued: number) =>
      `${pluralEn(queued, '# pipeline waits', '# pipelines wait')} and slots are free: a runner takes the next one within its poll interval.`,
    calm: (alive: number, busy: number, slots: number) =>
      `Nothing waits for a runner. ${pluralEn(alive, '# runner is alive', '# runners are alive')}, ${busy} of ${pluralEn(slots, '# slot', '# slots')} busy.`,
  },
  {
    nobody: (queued: number) =>
      queued === 0
        ? 'Ни одного исполнителя на связи: ничего не запустится. Запустите:'
        : `${pluralRu(queued, 'Ждёт # пайплайн', 'Ждут # пайплайна', 'Ждут # пайплайнов')}, а взять некому: исполнителей нет на связи. Запустите:`,
    busy: (queued: number, slots: number) =>
      `${pluralRu(queued, 'Ждёт # пайплайн', 'Ждут # пайплайна', 'Ждут # пайплайнов')}: ${pluralRu(slots, 'занято # место', 'заняты все # места', 'заняты все # мест')}. Больше исполнителей или больший RUNNER_CONCURRENCY возьмут больше сразу.`,
    soon: (queued: number) =>
      `${pluralRu(queued, 'Ждёт # пайплайн', 'Ждут # пайплайна', 'Ждут # пайплайнов')}, места есть: исполнитель возьмёт следующий при очередном опросе.`,
    calm: (alive: number, busy: number, slots: number) =>
      `Исполнителя никто не ждёт. ${pluralRu(alive, 'На связи # исполнитель', 'На связи # исполнителя', 'На связи # исполнителей')}, занято ${busy} из ${pluralRu(slots, '# места', '# мест', '# мест')}.`,
  },
)

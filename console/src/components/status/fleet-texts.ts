import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

/** Why queued pipelines wait. */
export const fleetTexts = defineTexts(
  {
    noRunner: (queued: number) =>
      queued === 0
        ? 'No runner is alive. Start one:'
        : `${pluralEn(queued, '# pipeline is queued', '# pipelines are queued')}, but no runner is alive. Start one:`,
    busy: (queued: number, slots: number) =>
      `${pluralEn(queued, '# pipeline is queued', '# pipelines are queued')}: ${pluralEn(slots, 'the only slot is busy', 'all # slots are busy')}. To run more pipelines at once, add runners or increase RUNNER_CONCURRENCY.`,
    soon: (queued: number) =>
      `${pluralEn(queued, '# pipeline is queued', '# pipelines are queued')} and slots are free: a runner claims the next one within its poll interval.`,
    idle: (alive: number, busy: number, slots: number) =>
      `The queue is empty. ${pluralEn(alive, '# runner is alive', '# runners are alive')}, ${busy} of ${pluralEn(slots, '# slot', '# slots')} busy.`,
  },
  {
    noRunner: (queued: number) =>
      queued === 0
        ? 'Нет работающих раннеров. Запустите раннер:'
        : `${pluralRu(queued, 'В очереди # пайплайн', 'В очереди # пайплайна', 'В очереди # пайплайнов')}, но нет работающих раннеров. Запустите раннер:`,
    busy: (queued: number, slots: number) =>
      `${pluralRu(queued, 'В очереди # пайплайн', 'В очереди # пайплайна', 'В очереди # пайплайнов')}: ${pluralRu(slots, 'занят единственный слот', 'заняты все # слота', 'заняты все # слотов')}. Чтобы выполнять больше пайплайнов одновременно, добавьте раннеры или увеличьте RUNNER_CONCURRENCY.`,
    soon: (queued: number) =>
      `${pluralRu(queued, 'В очереди # пайплайн', 'В очереди # пайплайна', 'В очереди # пайплайнов')}, есть свободные слоты: раннер возьмёт следующий при очередном опросе.`,
    idle: (alive: number, busy: number, slots: number) =>
      `Очередь пуста. ${pluralRu(alive, 'Работает # раннер', 'Работают # раннера', 'Работают # раннеров')}, занято ${busy} из ${pluralRu(slots, '# слота', '# слотов', '# слотов')}.`,
  },
)

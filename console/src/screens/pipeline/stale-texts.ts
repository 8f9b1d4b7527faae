import type { Freshness } from '../../api/wire.js'
import { defineTexts } from '../../i18n/texts.js'

type Code = NonNullable<Freshness['cause']>['code']

const causesEn: Readonly<Record<Code, string>> = {
  DISABLED: 'The pipeline is disabled',
  PAUSED: 'The pipeline is paused',
  PAUSING: 'The pipeline is about to pause',
  NEVER_RUN: 'The pipeline has not run yet',
  CANCELLED: 'The last run was cancelled',
  QUEUE: 'The run waits for a free slot',
  RUNNER_SILENT: 'The runner does not respond',
  FAILED: 'The last run failed',
  BRAKE: 'The delete brake stopped the last run',
  QUARANTINE: 'Too many rows were quarantined',
  RETRYING: 'The run is repeating after an error',
  CONNECTION_LOST: 'The run lost a database connection',
  CAPTURE_FAILING: 'Changes of the source cannot be read',
  CAPTURE_STOPPED: 'No runner reads the changes of the source',
  NO_RUNNER: 'No runner is alive',
  NO_RUNNER_FOR_TAGS: 'No runner takes the tags of the pipeline',
  CONNECTION_LIMIT: 'A connection has reached its limit of runs',
  UPSTREAM: 'A mart that it reads is too old',
  LOCK: 'The run waits for a lock',
  HELD_BACK: 'An open transaction holds the checkpoint back',
  FIRST_LOAD: 'The first load has not ended',
  SLOW_READ: 'Reading is slow',
  SLOW_TRANSFORM: 'Transforms are slow',
  SLOW_WRITE: 'Writing is slow',
  SLOW_CHECKPOINT: 'Checkpoints are slow',
  SLOW_FIRST_BATCH: 'The first batch is slow',
  SLOW_RUN: 'Runs take too long',
}

const causesRu: Readonly<Record<Code, string>> = {
  DISABLED: 'Пайплайн отключён',
  PAUSED: 'Пайплайн на паузе',
  PAUSING: 'Пайплайн встаёт на паузу',
  NEVER_RUN: 'Пайплайн ещё не запускался',
  CANCELLED: 'Последний запуск отменён',
  QUEUE: 'Запуск ждёт свободного места',
  RUNNER_SILENT: 'Раннер не отвечает',
  FAILED: 'Последний запуск завершился ошибкой',
  BRAKE: 'Последний запуск остановлен защитой от массового удаления',
  QUARANTINE: 'Слишком много строк в карантине',
  RETRYING: 'Запуск повторяется после ошибки',
  CONNECTION_LOST: 'Запуск потерял соединение с базой',
  CAPTURE_FAILING: 'Не удаётся прочитать изменения источника',
  CAPTURE_STOPPED: 'Изменения источника никто не читает',
  NO_RUNNER: 'Нет работающих раннеров',
  NO_RUNNER_FOR_TAGS: 'Ни один раннер не берёт теги пайплайна',
  CONNECTION_LIMIT: 'Достигнут предел запусков на соединение',
  UPSTREAM: 'Устарела витрина, которую он читает',
  LOCK: 'Запуск ждёт блокировки',
  HELD_BACK: 'Открытая транзакция держит контрольную точку',
  FIRST_LOAD: 'Первая загрузка не закончена',
  SLOW_READ: 'Медленное чтение',
  SLOW_TRANSFORM: 'Медленные преобразования',
  SLOW_WRITE: 'Медленная запись',
  SLOW_CHECKPOINT: 'Медленные контрольные точки',
  SLOW_FIRST_BATCH: 'Медленный первый пакет',
  SLOW_RUN: 'Запуски длятся слишком долго',
}

export const staleTexts = defineTexts(
  { causes: causesEn, tooOld: 'The data is too old' },
  { causes: causesRu, tooOld: 'Данные устарели' },
)

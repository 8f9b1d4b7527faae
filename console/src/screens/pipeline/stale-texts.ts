import type { Freshness } from '../../api/wire.js'
import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

type Code = NonNullable<Freshness['cause']>['code']

const causesEn: Readonly<Record<Code, string>> = {
  DISABLED: 'The pipeline is disabled',
  PAUSED: 'The pipeline is paused',
  PAUSING: 'The pipeline is pausing',
  NEVER_RUN: 'The pipeline has not run yet',
  CANCELLED: 'The last run was cancelled',
  QUEUE: 'The run waits for a free slot',
  RUNNER_SILENT: 'The runner does not respond',
  FAILED: 'The last run failed',
  BRAKE: 'The delete brake stopped the last run',
  QUARANTINE: 'Too many rows were quarantined',
  RETRYING: 'The run is retrying after an error',
  CONNECTION_LOST: 'The run lost a database connection',
  CAPTURE_FAILING: 'Changes of the source cannot be read',
  CAPTURE_STOPPED: 'No runner reads the changes of the source',
  NO_RUNNER: 'No runner is alive',
  NO_RUNNER_FOR_TAGS: 'No runner accepts the tags of the pipeline',
  CONNECTION_LIMIT: 'A connection has reached its limit of runs',
  UPSTREAM: 'A mart that it reads is too old',
  LOCK: 'The run waits for a lock',
  HELD_BACK: 'An open transaction holds the checkpoint back',
  FIRST_LOAD: 'The first load has not finished',
  SLOW_READ: 'Reading is slow',
  SLOW_TRANSFORM: 'Transforms are slow',
  SLOW_WRITE: 'Writing is slow',
  SLOW_CHECKPOINT: 'Checkpoints are slow',
  SLOW_FIRST_BATCH: 'The first batch is slow',
  SLOW_RUN: 'Runs take too long',
}

const causesRu: Readonly<Record<Code, string>> = {
  DISABLED: 'Пайплайн выключен',
  PAUSED: 'Пайплайн на паузе',
  PAUSING: 'Пайплайн приостанавливается',
  NEVER_RUN: 'Пайплайн ещё не запускался',
  CANCELLED: 'Последний запуск отменён',
  QUEUE: 'Запуск ждёт свободного слота',
  RUNNER_SILENT: 'Раннер не отвечает',
  FAILED: 'Последний запуск завершился ошибкой',
  BRAKE: 'Последний запуск остановлен: превышен предел удаления',
  QUARANTINE: 'Слишком много строк в карантине',
  RETRYING: 'Запуск повторяется после ошибки',
  CONNECTION_LOST: 'Запуск потерял соединение с базой',
  CAPTURE_FAILING: 'Не удаётся прочитать изменения источника',
  CAPTURE_STOPPED: 'Ни один раннер не читает изменения источника',
  NO_RUNNER: 'Нет работающих раннеров',
  NO_RUNNER_FOR_TAGS: 'Ни один раннер не принимает теги пайплайна',
  CONNECTION_LIMIT: 'Достигнут предел запусков на подключение',
  UPSTREAM: 'Устарела витрина, которую он читает',
  LOCK: 'Запуск ждёт блокировки',
  HELD_BACK: 'Открытая транзакция задерживает контрольную точку',
  FIRST_LOAD: 'Первая загрузка не закончена',
  SLOW_READ: 'Медленное чтение',
  SLOW_TRANSFORM: 'Медленные преобразования',
  SLOW_WRITE: 'Медленная запись',
  SLOW_CHECKPOINT: 'Медленные контрольные точки',
  SLOW_FIRST_BATCH: 'Медленный первый пакет',
  SLOW_RUN: 'Запуски длятся слишком долго',
}

/** The facts of a cause in the form in which sentences show them; an empty text: not known. */
export interface ShownFacts {
  readonly since: string
  readonly runner: string
  readonly ahead: number
  readonly running: number
  readonly attempt: number
  readonly errorCode: string
  /** With a colon before it. */
  readonly error: string
  readonly tags: string
  readonly tagCount: number
  readonly connection: string
  readonly runs: string
  readonly limit: string
  readonly isTarget: boolean
  readonly pid: string
  readonly application: string
  readonly table: string
  readonly reason: string
  readonly took: string
  readonly share: string
  readonly isFinished: boolean
}

type Details = Readonly<Record<Code, (facts: ShownFacts) => string>>
type Hints = Readonly<Record<Code, (upstream: string) => string>>

const inParentheses = (text: string) => (text === '' ? '' : ` (${text})`)

const tookEn = ({ isFinished, took }: ShownFacts) =>
  isFinished ? `The last run took ${took}` : `The run has been in progress for ${took}`
const slowEn = (phase: string) => (facts: ShownFacts) =>
  `${tookEn(facts)}; its batches spend ${facts.share} of their time on ${phase}.`
const sinceEn = (since: string) => (since === '' ? '' : ` since ${since}`)

const detailsEn: Details = {
  DISABLED: () => 'Runners do not start it.',
  PAUSED: ({ since }) => `It has been paused${sinceEn(since)}.`,
  PAUSING: ({ since }) => `It pauses after the current batch of its run, which started at ${since}.`,
  NEVER_RUN: () => 'No run has been requested.',
  CANCELLED: ({ since }) => `The last run was cancelled${since === '' ? '' : ` at ${since}`}.`,
  QUEUE: ({ since, running, ahead }) =>
    `The run has waited for a free slot${sinceEn(since)}: ${pluralEn(running, '# run is', '# runs are')} in progress, and ${pluralEn(ahead, '# request is', '# requests are')} older.`,
  RUNNER_SILENT: ({ runner, since }) =>
    `The runner ${runner} that holds the run does not respond; its lease expires at ${since}.`,
  FAILED: ({ errorCode, error }) => `The last run failed with ${errorCode}${error}`,
  BRAKE: ({ error }) => `The last run was stopped by the delete brake${error}`,
  QUARANTINE: ({ error }) => `The last run quarantined more rows than quarantine_limit allows${error}`,
  RETRYING: ({ attempt, error }) => `The run is retrying after an error (attempt ${attempt})${error}`,
  CONNECTION_LOST: ({ error }) => `The run lost its connection to a database${error}`,
  CAPTURE_FAILING: ({ error }) => `The changes of the source database cannot be read${error}`,
  CAPTURE_STOPPED: () => 'No runner reads the changes of the source database.',
  NO_RUNNER: () => 'No runner has sent a heartbeat within the last 15 seconds.',
  NO_RUNNER_FOR_TAGS: ({ tags, tagCount }) =>
    tagCount === 0
      ? 'No runner accepts pipelines without tags.'
      : tagCount === 1
        ? `No runner accepts the tag ${tags}.`
        : `No runner accepts the tags ${tags} together.`,
  CONNECTION_LIMIT: ({ connection, runs, limit }) =>
    `Connection ${connection} is at its limit: ${runs} of ${limit} concurrent runs and parts.`,
  UPSTREAM: () => 'Its data is too old.',
  LOCK: ({ isTarget, table, pid, application, since }) =>
    `The run waits for a lock${table === '' ? '' : ` on ${table}`} in the ${isTarget ? 'target' : 'source'} database, held by session ${pid}${inParentheses(application)}${since === '' ? '' : `, whose transaction began at ${since}`}.`,
  HELD_BACK: ({ reason, pid, since }) =>
    `${pid === '' ? 'An open transaction' : `Session ${pid}`} can still commit rows that a run would miss${since === '' ? '' : `; its transaction has been open since ${since}`}${inParentheses(reason)}.`,
  FIRST_LOAD: ({ took }) => `The first load has been running for ${took} and has not finished yet.`,
  SLOW_READ: slowEn('reading'),
  SLOW_TRANSFORM: slowEn('transforms'),
  SLOW_WRITE: slowEn('writing'),
  SLOW_CHECKPOINT: slowEn('checkpoints'),
  SLOW_FIRST_BATCH: ({ took }) =>
    `The run has been in progress for ${took} and has not committed a batch yet.`,
  SLOW_RUN: ({ took }) => `The last run took ${took}, and the next one is already due.`,
}

const tookRu = ({ isFinished, took }: ShownFacts) =>
  isFinished ? `Последний запуск занял ${took}` : `Запуск идёт уже ${took}`
const slowRu = (phase: string) => (facts: ShownFacts) =>
  `${tookRu(facts)}; ${facts.share} времени его пакетов уходит на ${phase}.`
const sinceRu = (since: string) => (since === '' ? '' : ` с ${since}`)

const detailsRu: Details = {
  DISABLED: () => 'Раннеры его не запускают.',
  PAUSED: ({ since }) => `Он на паузе${sinceRu(since)}.`,
  PAUSING: ({ since }) => `Он приостановится после текущего пакета запуска, начатого ${since}.`,
  NEVER_RUN: () => 'Ни один запуск ещё не запрошен.',
  CANCELLED: ({ since }) => `Последний запуск отменён${since === '' ? '' : ` ${since}`}.`,
  QUEUE: ({ since, running, ahead }) =>
    `Запуск ждёт свободного слота${sinceRu(since)}: ${pluralRu(running, 'идёт # запуск', 'идут # запуска', 'идут # запусков')}, раньше запрошено ещё ${pluralRu(ahead, '# запуск', '# запуска', '# запусков')}.`,
  RUNNER_SILENT: ({ runner, since }) =>
    `Раннер ${runner}, который держит запуск, не отвечает; его аренда истекает ${since}.`,
  FAILED: ({ errorCode, error }) => `Последний запуск завершился ошибкой ${errorCode}${error}`,
  BRAKE: ({ error }) => `Последний запуск остановлен: превышен предел удаления${error}`,
  QUARANTINE: ({ error }) =>
    `Последний запуск поместил в карантин больше строк, чем разрешает quarantine_limit${error}`,
  RETRYING: ({ attempt, error }) => `Запуск повторяется после ошибки (попытка ${attempt})${error}`,
  CONNECTION_LOST: ({ error }) => `Запуск потерял соединение с базой данных${error}`,
  CAPTURE_FAILING: ({ error }) => `Не удаётся прочитать изменения базы источника${error}`,
  CAPTURE_STOPPED: () => 'Ни один раннер не читает изменения базы источника.',
  NO_RUNNER: () => 'За последние 15 секунд не было сигнала ни от одного раннера.',
  NO_RUNNER_FOR_TAGS: ({ tags, tagCount }) =>
    tagCount === 0
      ? 'Ни один раннер не принимает пайплайны без тегов.'
      : tagCount === 1
        ? `Ни один раннер не принимает тег ${tags}.`
        : `Ни один раннер не принимает теги ${tags} вместе.`,
  CONNECTION_LIMIT: ({ connection, runs, limit }) =>
    `На подключении ${connection} одновременных запусков и частей: ${runs} из ${limit}.`,
  UPSTREAM: () => 'Его данные устарели.',
  LOCK: ({ isTarget, table, pid, application, since }) =>
    `Запуск ждёт блокировки${table === '' ? '' : ` таблицы ${table}`} в базе ${isTarget ? 'витрины' : 'источника'}; её держит сеанс ${pid}${inParentheses(application)}${since === '' ? '' : `, транзакция которого начата ${since}`}.`,
  HELD_BACK: ({ reason, pid, since }) =>
    `${pid === '' ? 'Открытая транзакция' : `Сеанс ${pid}`} ещё может зафиксировать строки, которые запуск пропустил бы${since === '' ? '' : `; транзакция открыта с ${since}`}${inParentheses(reason)}.`,
  FIRST_LOAD: ({ took }) => `Первая загрузка идёт уже ${took} и ещё не закончена.`,
  SLOW_READ: slowRu('чтение'),
  SLOW_TRANSFORM: slowRu('преобразование'),
  SLOW_WRITE: slowRu('запись'),
  SLOW_CHECKPOINT: slowRu('запись контрольных точек'),
  SLOW_FIRST_BATCH: ({ took }) => `Запуск идёт уже ${took} и ещё не зафиксировал ни одного пакета.`,
  SLOW_RUN: ({ took }) => `Последний запуск занял ${took}, а следующий уже пора начинать.`,
}

const hintsEn: Hints = {
  DISABLED: () => 'Enable it.',
  PAUSED: () => 'Run it to resume.',
  PAUSING: () => 'Run it again when it is paused.',
  NEVER_RUN: () => 'The pipeline is due: a runner requests a run within seconds.',
  CANCELLED: () =>
    'Run it again, or wait: the next run is requested one freshness period after it was cancelled.',
  QUEUE: () => 'Start more runners or raise RUNNER_CONCURRENCY.',
  RUNNER_SILENT: () =>
    'Another runner resumes the run when the lease expires. Check the host of that runner.',
  FAILED: () => 'Fix the cause and run the pipeline again.',
  BRAKE: () => 'Check the source, then raise delete_brake for one run.',
  QUARANTINE: () => 'Fix the rows or raise quarantine_limit.',
  RETRYING: () => 'Fix the cause; the run then continues automatically.',
  CONNECTION_LOST: () =>
    'Check that the database is reachable from the runners; the run then continues automatically.',
  CAPTURE_FAILING: () => 'Check the source on the Sources page.',
  CAPTURE_STOPPED: () => 'Check the source on the Sources page, and start a runner that can connect to it.',
  NO_RUNNER: () => 'Start one with "vitrina runner".',
  NO_RUNNER_FOR_TAGS: () =>
    'Start a runner whose RUNNER_TAGS has slots for it, or change the tags of the pipeline.',
  CONNECTION_LIMIT: () => 'The run starts when one of them ends. CONNECTION_LIMITS sets the limit.',
  UPSTREAM: (upstream) => `Check the runs of ${upstream}.`,
  LOCK: () => 'End that transaction; the run then continues automatically.',
  HELD_BACK: () => 'End that transaction on the source. Until then, every run reads the rows after it again.',
  FIRST_LOAD: () => 'Wait until it finishes; parallelism speeds up the first load of a large table.',
  SLOW_READ: () =>
    'Check the query plan under Validation on the Overview tab; capture xmin or wal reads only what changed.',
  SLOW_TRANSFORM: () => 'Make the transform faster, or set parallelism so that several runners work on it.',
  SLOW_WRITE: () => 'Check the triggers, indexes and locks of the mart.',
  SLOW_CHECKPOINT: () => 'Raise batch_size or set it to auto: each batch commits its checkpoint.',
  SLOW_FIRST_BATCH: () => 'Check the query plan under Validation on the Overview tab.',
  SLOW_RUN: () => 'Increase freshness, or make the run faster.',
}

const hintsRu: Hints = {
  DISABLED: () => 'Включите его.',
  PAUSED: () => 'Запустите его, чтобы продолжить.',
  PAUSING: () => 'Запустите его снова, когда он приостановится.',
  NEVER_RUN: () => 'Его пора запускать: раннер запросит запуск в течение нескольких секунд.',
  CANCELLED: () =>
    'Запустите его снова или подождите: следующий запуск будет запрошен через период freshness после отмены.',
  QUEUE: () => 'Запустите ещё раннеры или увеличьте RUNNER_CONCURRENCY.',
  RUNNER_SILENT: () =>
    'Когда аренда истечёт, запуск продолжит другой раннер. Проверьте машину этого раннера.',
  FAILED: () => 'Устраните причину и запустите пайплайн снова.',
  BRAKE: () => 'Проверьте источник, затем увеличьте delete_brake на один запуск.',
  QUARANTINE: () => 'Исправьте строки или увеличьте quarantine_limit.',
  RETRYING: () => 'Устраните причину; запуск продолжится сам.',
  CONNECTION_LOST: () => 'Проверьте, что база доступна раннерам; запуск продолжится сам.',
  CAPTURE_FAILING: () => 'Проверьте источник на странице «Источники».',
  CAPTURE_STOPPED: () =>
    'Проверьте источник на странице «Источники» и запустите раннер, которому доступно это подключение.',
  NO_RUNNER: () => 'Запустите его командой "vitrina runner".',
  NO_RUNNER_FOR_TAGS: () =>
    'Запустите раннер, у которого в RUNNER_TAGS есть слоты для них, или измените теги пайплайна.',
  CONNECTION_LIMIT: () => 'Запуск начнётся, когда один из них закончится. Предел задаёт CONNECTION_LIMITS.',
  UPSTREAM: (upstream) => `Проверьте запуски пайплайна ${upstream}.`,
  LOCK: () => 'Завершите эту транзакцию; запуск продолжится сам.',
  HELD_BACK: () =>
    'Завершите эту транзакцию в источнике: до тех пор каждый запуск снова читает строки после неё.',
  FIRST_LOAD: () => 'Дождитесь её окончания; parallelism ускоряет первую загрузку большой таблицы.',
  SLOW_READ: () =>
    'Проверьте план запроса в разделе «Проверка» на вкладке «Обзор»; capture xmin или wal читает только изменённое.',
  SLOW_TRANSFORM: () =>
    'Ускорьте преобразование или задайте parallelism, чтобы его выполняли несколько раннеров.',
  SLOW_WRITE: () => 'Проверьте триггеры, индексы и блокировки витрины.',
  SLOW_CHECKPOINT: () =>
    'Увеличьте batch_size или задайте auto: каждый пакет фиксирует свою контрольную точку.',
  SLOW_FIRST_BATCH: () => 'Проверьте план запроса в разделе «Проверка» на вкладке «Обзор».',
  SLOW_RUN: () => 'Увеличьте freshness или ускорьте запуск.',
}

export const staleTexts = defineTexts(
  {
    causes: causesEn,
    details: detailsEn,
    hints: hintsEn,
    upstream: (name: string) => `It follows ${name}, whose data is too old`,
    tooOld: 'The data is too old',
  },
  {
    causes: causesRu,
    details: detailsRu,
    hints: hintsRu,
    upstream: (name: string) => `Он следует за ${name}, данные которого устарели`,
    tooOld: 'Данные устарели',
  },
)

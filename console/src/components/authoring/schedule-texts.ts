import { defineTexts } from '../../i18n/texts.js'

export const scheduleTexts = defineTexts(
  {
    when: 'Schedule',
    schedule: 'Interval',
    scheduleHint: 'An interval (15m, PT1H) or a cron expression (0 6 * * *).',
    byHand: 'Runs only on request.',
    followed: 'Without a schedule: runs on request, and after the pipelines that it follows.',
    limited: (limit: string) =>
      `Without a schedule: runners decide when to run, so that the data is at most ${limit} old.`,
    none: 'No schedule',
    presets: 'Common schedules',
    preset: {
      quarter: 'Every 15 minutes',
      hour: 'Every hour',
      day: 'Daily at 06:00',
      week: 'Mondays at 06:00',
    },
    every: (interval: string) => `Every ${interval} after the previous run.`,
    freshness: 'Freshness',
    freshnessHint:
      'How old the data may become (5m, 1h30m): runners decide when to run. Works without a schedule.',
    noLimit: 'Not limited',
    zone: 'Time zone',
    zoneHint: 'Applies to cron expressions.',
    next: (zone: string) => `Next runs, in ${zone}`,
    never: 'This schedule never matches a date.',
    forward: (minutes: number) => `clocks go forward ${minutes} min before this run`,
    back: (minutes: number) => `clocks go back ${minutes} min before this run`,
  },
  {
    when: 'Расписание',
    schedule: 'Интервал',
    scheduleHint: 'Интервал (15m, PT1H) или выражение cron (0 6 * * *).',
    byHand: 'Запускается только по запросу.',
    followed: 'Без расписания: запускается по запросу и после пайплайнов, за которыми следует.',
    limited: (limit: string) =>
      `Без расписания: когда запускать, решают раннеры, чтобы данные отставали не больше чем на ${limit}.`,
    none: 'Без расписания',
    presets: 'Типовые расписания',
    preset: {
      quarter: 'Каждые 15 минут',
      hour: 'Каждый час',
      day: 'Ежедневно в 06:00',
      week: 'По понедельникам в 06:00',
    },
    every: (interval: string) => `Каждые ${interval} после предыдущего запуска.`,
    freshness: 'Свежесть',
    freshnessHint:
      'Сколько данные могут отставать (5m, 1h30m): когда запускать, решают раннеры. Работает и без расписания.',
    noLimit: 'Не ограничена',
    zone: 'Часовой пояс',
    zoneHint: 'Для выражений cron.',
    next: (zone: string) => `Следующие запуски, ${zone}`,
    never: 'Такая дата никогда не наступит.',
    forward: (minutes: number) => `перед этим запуском часы переводятся на ${minutes} мин вперёд`,
    back: (minutes: number) => `перед этим запуском часы переводятся на ${minutes} мин назад`,
  },
)

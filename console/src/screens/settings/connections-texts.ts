import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const connectionsTexts = defineTexts(
  {
    title: 'Connections',
    again: 'Check again',
    checkedBy: (host: string, pid: number) => `by the API on ${host}, process ${pid}`,
    checked: 'Checked',
    runnersDiffer:
      'Runners are separate processes with their own environment and network. A connection that the API can reach may be unreachable for a runner, and vice versa.',
    summary: {
      good: (n: number) => pluralEn(n, 'The only connection is reachable', 'All # connections are reachable'),
      bad: (bad: number, all: number) =>
        `${bad} of ${pluralEn(all, '# connection', '# connections')} ${bad === 1 ? 'is' : 'are'} unreachable`,
    },
    state: {
      reachable: 'reachable',
      unreachable: 'unreachable',
      not_configured: 'not configured',
      unknown: 'no address',
    },
    main: 'Main database',
    mainText: 'Meta store. Also the source and target of pipelines that name no other connection.',
    kinds: {
      postgresql: 'PostgreSQL',
      elasticsearch: 'Elasticsearch',
      clickhouse: 'ClickHouse',
      s3: 'S3',
    },
    facts: {
      address: 'Address',
      logins: 'Logins',
      version: 'Version',
      latency: 'Latency',
      says: 'Response',
    },
    allow: {
      ALLOWED_SOURCE_SCHEMAS: 'Readable schemas',
      ALLOWED_TARGET_TABLES: 'Writable tables',
      ALLOWED_ES_INDEXES: 'Writable indexes',
      ALLOWED_CH_TABLES: 'Writable tables',
      ALLOWED_S3_PREFIXES: 'Writable prefixes',
    },
    nothingAllowed: 'none',
    used: (n: number) => pluralEn(n, 'Used by # pipeline', 'Used by # pipelines'),
    unused: 'Not used by any pipeline',
    reads: 'reads',
    writes: 'writes',
    both: 'reads and writes',
    more: (n: number) => pluralEn(n, 'and # more', 'and # more'),
  },
  {
    title: 'Подключения',
    again: 'Проверить снова',
    checkedBy: (host: string, pid: number) => `процессом API ${pid} на ${host}`,
    checked: 'Проверено',
    runnersDiffer:
      'Раннеры — отдельные процессы со своим окружением и сетью. Подключение, доступное API, может быть недоступно раннеру, и наоборот.',
    summary: {
      good: (n: number) =>
        pluralRu(n, 'Доступно # подключение', 'Доступны все # подключения', 'Доступны все # подключений'),
      bad: (bad: number, all: number) =>
        `${bad === 1 ? 'Недоступно' : 'Недоступны'} ${bad} из ${pluralRu(all, '# подключения', '# подключений', '# подключений')}`,
    },
    state: {
      reachable: 'доступно',
      unreachable: 'недоступно',
      not_configured: 'не настроено',
      unknown: 'нет адреса',
    },
    main: 'Основная база данных',
    mainText:
      'Хранилище метаданных. Также источник и цель пайплайнов, в которых не указано другое подключение.',
    kinds: {
      postgresql: 'PostgreSQL',
      elasticsearch: 'Elasticsearch',
      clickhouse: 'ClickHouse',
      s3: 'S3',
    },
    facts: {
      address: 'Адрес',
      logins: 'Логины',
      version: 'Версия',
      latency: 'Задержка',
      says: 'Ответ',
    },
    allow: {
      ALLOWED_SOURCE_SCHEMAS: 'Схемы для чтения',
      ALLOWED_TARGET_TABLES: 'Таблицы для записи',
      ALLOWED_ES_INDEXES: 'Индексы для записи',
      ALLOWED_CH_TABLES: 'Таблицы для записи',
      ALLOWED_S3_PREFIXES: 'Префиксы для записи',
    },
    nothingAllowed: 'нет',
    used: (n: number) =>
      pluralRu(n, 'Используется # пайплайном', 'Используется # пайплайнами', 'Используется # пайплайнами'),
    unused: 'Не используется пайплайнами',
    reads: 'читает',
    writes: 'пишет',
    both: 'читает и пишет',
    more: (n: number) => pluralRu(n, 'и ещё #', 'и ещё #', 'и ещё #'),
  },
)

import { defineTexts, pluralEn, pluralRu } from '../../i18n/texts.js'

export const connectionsTexts = defineTexts(
  {
    title: 'Connections',
    again: 'Check again',
    lookedBy: (host: string, pid: number) => `by the API on ${host}, process ${pid}`,
    checked: 'Checked',
    runnersDiffer:
      'Runners are processes of their own, with an environment and a network of their own: what the API reaches, a runner may not, and the other way round.',
    summary: {
      good: (n: number) => pluralEn(n, 'The only connection answers', 'All # connections answer'),
      bad: (bad: number, all: number) =>
        `${bad} of ${pluralEn(all, '# connection', '# connections')} ${bad === 1 ? 'does' : 'do'} not answer`,
    },
    state: {
      reachable: 'reachable',
      unreachable: 'unreachable',
      not_configured: 'not configured',
      unknown: 'no address',
    },
    main: 'Main database',
    mainText: 'Meta store, and what pipelines read and write unless they name another connection.',
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
      latency: 'First answer',
      says: 'It says',
    },
    allow: {
      ALLOWED_SOURCE_SCHEMAS: 'May be read: schemas',
      ALLOWED_TARGET_TABLES: 'May be written: tables',
      ALLOWED_ES_INDEXES: 'May be written: indexes',
      ALLOWED_CH_TABLES: 'May be written: tables',
      ALLOWED_S3_PREFIXES: 'May be written: prefixes',
    },
    nothingAllowed: 'nothing',
    used: (n: number) => pluralEn(n, 'Used by # pipeline', 'Used by # pipelines'),
    unused: 'No pipeline uses it',
    reads: 'reads',
    writes: 'writes',
    both: 'reads and writes',
    more: (n: number) => pluralEn(n, 'and # more', 'and # more'),
  },
  {
    title: 'Подключения',
    again: 'Проверить снова',
    lookedBy: (host: string, pid: number) => `процессом API ${pid} на ${host}`,
    checked: 'Проверено',
    runnersDiffer:
      'Исполнители — отдельные процессы со своим окружением и своей сетью: до чего достаёт API, исполнитель может не достать, и наоборот.',
    summary: {
      good: (n: number) =>
        pluralRu(n, 'Отвечает # подключение', 'Отвечают все # подключения', 'Отвечают все # подключений'),
      bad: (bad: number, all: number) =>
        `Не ${bad === 1 ? 'отвечает' : 'отвечают'} ${bad} из ${pluralRu(all, '# подключения', '# подключений', '# подключений')}`,
    },
    state: {
      reachable: 'доступно',
      unreachable: 'недоступно',
      not_configured: 'не настроено',
      unknown: 'нет адреса',
    },
    main: 'Основная база',
    mainText: 'Метаданные и всё, что пайплайны читают и пишут, если не названо другое подключение.',
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
      latency: 'Первый ответ',
      says: 'Ответ',
    },
    allow: {
      ALLOWED_SOURCE_SCHEMAS: 'Можно читать: схемы',
      ALLOWED_TARGET_TABLES: 'Можно писать: таблицы',
      ALLOWED_ES_INDEXES: 'Можно писать: индексы',
      ALLOWED_CH_TABLES: 'Можно писать: таблицы',
      ALLOWED_S3_PREFIXES: 'Можно писать: префиксы',
    },
    nothingAllowed: 'ничего',
    used: (n: number) =>
      pluralRu(n, 'Используется # пайплайном', 'Используется # пайплайнами', 'Используется # пайплайнами'),
    unused: 'Пайплайны его не используют',
    reads: 'читает',
    writes: 'пишет',
    both: 'читает и пишет',
    more: (n: number) => pluralRu(n, 'и ещё #', 'и ещё #', 'и ещё #'),
  },
)

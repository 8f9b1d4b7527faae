import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { aPipeline } from '../../support/builders.js'
import type { TestDatabase } from '../../support/database.js'
import type { ConsoleStand } from './stand.js'

/** A screen that the tests of all screens visit. */
export interface Screen {
  readonly name: string
  /** Below `/ui`; `$id` is the result of `prepare`. */
  readonly path: string
  /** Creates the data that the screen shows. */
  readonly prepare?: (stand: ConsoleStand) => Promise<string>
  /** Its data lasts half a minute only, so it is prepared right before the screen is loaded. */
  readonly isBrief?: boolean
  /** Text that is visible once the content is loaded. */
  readonly shows: string | RegExp
}

const FILMS_ID = '11111111-1111-1111-1111-111111111111'
const FILMS = `/pipelines/${FILMS_ID}`

/** Add a line for each new screen; `routesOfConsole` finds routes without one. */
export const SCREENS: readonly Screen[] = [
  { name: 'the list of pipelines', path: '/pipelines', shows: 'film_dim_full' },
  { name: 'a new pipeline', path: '/pipelines/new', shows: /Use an example|Использовать пример/ },
  {
    name: 'the import',
    path: '/pipelines/import',
    shows: /No plan yet|Плана пока нет/,
  },
  { name: 'a duplicate', path: `/pipelines/new?from=${FILMS_ID}`, shows: 'film_dim_full' },
  {
    name: 'the list of runs',
    path: '/runs',
    prepare: (stand) => anEndedRun(stand),
    shows: 'film_dim_full',
  },
  {
    name: 'a run',
    path: '/runs/$id?batch=1',
    prepare: (stand) => anEndedRun(stand),
    shows: 'film_dim_full',
  },
  {
    name: 'an active run',
    path: '/runs/$id',
    prepare: anActiveRun,
    isBrief: true,
    shows: /Last heartbeat \d|Последний сигнал раннера \d/,
  },
  { name: 'a filtered list of runs', path: '/runs?status=failed,succeeded&range=custom', shows: 'UTC' },
  {
    name: 'a run with several attempts',
    path: '/runs/$id?attempt=1&q=nothing',
    prepare: aRunWithTwoAttempts,
    shows: /No lines contain|Строк с/,
  },
  {
    name: 'a run in parts',
    path: '/runs/$id',
    prepare: aRunInParts,
    shows: /3 of 3 committed|зафиксировано 3 из 3/,
  },
  { name: 'the runners', path: '/runners', shows: hostname() },
  { name: 'the sources', path: '/sources', prepare: aCapturedSource, shows: 'captured_stats' },
  { name: 'the order', path: '/order', shows: 'film_dim_full' },
  { name: 'the lineage', path: '/lineage', shows: 'analytics.film_dim' },
  {
    name: 'the lineage of a column',
    path: '/lineage?node=analytics.film_dim&level=column&column=analytics.film_dim%23title',
    shows: /Column lineage|Происхождение столбца/,
  },
  {
    name: 'the lineage as a list',
    path: '/lineage?node=analytics.film_dim&level=column&view=list',
    shows: /^(Upstream|Источники)$/,
  },
  { name: 'the overview of the fleet', path: '/', shows: /Needs attention|Требует внимания/ },
  { name: 'the quality of the fleet', path: '/quality', shows: 'film_dim_full' },
  {
    name: 'the quarantine',
    path: '/quarantine',
    prepare: aQuarantinedRow,
    shows: '22003',
  },
  {
    name: 'a row of the quarantine',
    path: '/quarantine?row=$id',
    prepare: aQuarantinedRow,
    shows: 'row_of_axe',
  },
  { name: 'the overview of a pipeline', path: `${FILMS}/overview`, shows: 'sql_full' },
  { name: 'the query of a pipeline', path: `${FILMS}/sql`, shows: /Estimated rows|Оценка числа строк/ },
  { name: 'the configuration of a pipeline', path: `${FILMS}/config`, shows: 'quarantine_limit' },
  { name: 'the versions of a pipeline', path: `${FILMS}/versions`, shows: /Version 1|Версия 1/ },
  {
    name: 'the runs of a pipeline',
    path: `${FILMS}/runs`,
    shows: /No runs yet|Запусков ещё нет|shown|показан/,
  },
  { name: 'the state of a pipeline', path: `${FILMS}/state`, shows: /Full mode|В режиме full/ },
  {
    name: 'the quality of a pipeline',
    path: `${FILMS}/quality`,
    prepare: aQuarantinedRow,
    shows: /No quarantined rows|Карантин пуст|held|в карантине/,
  },
  {
    name: 'the data of a mart',
    path: '/pipelines/$id/data?sort=-title',
    prepare: async (stand) => {
      await anEndedRun(stand)
      return FILMS_ID
    },
    shows: /Suggested checks|Предлагаемые проверки/,
  },
  {
    name: 'the overview of a scheduled, incremental pipeline',
    path: '/pipelines/$id/overview',
    prepare: aScheduledPipeline,
    shows: 'sql_incremental',
  },
  {
    name: 'the configuration of a scheduled, incremental pipeline',
    path: '/pipelines/$id/config',
    prepare: aScheduledPipeline,
    shows: /^in \d|^через \d/,
  },
  {
    name: 'the checks of a pipeline',
    path: '/pipelines/$id/checks',
    prepare: aCheckedPipeline,
    shows: 'rating_range',
  },
  {
    name: 'a pipeline without checks',
    path: '/pipelines/$id/checks',
    prepare: async ({ database }) => (await aPipeline(database)).id,
    shows: /No checks|Проверок нет/,
  },
  {
    name: 'the configuration of a pipeline with checks',
    path: '/pipelines/$id/config',
    prepare: aCheckedPipeline,
    shows: /Add check|Добавить проверку/,
  },
  { name: 'the checks of the fleet', path: '/checks', prepare: aCheckedPipeline, shows: 'rating_range' },
  {
    name: 'the overview of a pipeline whose data is too old',
    path: '/pipelines/$id/overview',
    prepare: aStalePipeline,
    shows: /The pipeline is disabled|Пайплайн выключен/,
  },
  { name: 'the order of marts that read marts', path: '/order', prepare: aFollower, shows: 'of_marts' },
  {
    name: 'the configuration of a mart of marts with a freshness',
    path: '/pipelines/$id/config',
    prepare: aFollower,
    shows: 'on_upstream_failure',
  },
  {
    name: 'the overview of a live pipeline that captures changes',
    path: '/pipelines/$id/overview',
    prepare: aCapturedSource,
    shows: 'analytics.captured_stats',
  },
  {
    name: 'the state of a pipeline that captures changes',
    path: '/pipelines/$id/state',
    prepare: aCapturedSource,
    shows: /position in the write-ahead log|позиция в журнале предзаписи/,
  },
  {
    name: 'the connections',
    path: '/settings/connections',
    shows: /Writable tables|Таблицы для записи/,
  },
  {
    name: 'the tokens',
    path: '/settings/tokens',
    prepare: aToken,
    shows: 'viewer of a test',
  },
  {
    name: 'the notifications',
    path: '/settings/notifications',
    prepare: anUndeliveredNotification,
    shows: 'VITRINA_CHANNELS',
  },
  { name: 'the sessions', path: '/settings/sessions', shows: /this browser|этот браузер/ },
  {
    name: 'an entry of the audit',
    path: '/settings/audit?entry=$id',
    prepare: anAuditEntry,
    shows: 'token.create',
  },
  { name: 'the server information', path: '/settings/about', shows: 'RUNNER_CONCURRENCY' },
]

export async function pathOf({ path, prepare }: Screen, stand: ConsoleStand): Promise<string> {
  return prepare === undefined ? path : path.replace('$id', await prepare(stand))
}

/** Paths of all routes with a screen, as the router of the console defines them: `/pipelines/$id/sql`. */
export async function routesOfConsole(): Promise<string[]> {
  const source = await readFile(new URL('../../../console/src/app/router.tsx', import.meta.url), 'utf8')
  const paths = new Map<string, string>([['root', '']])
  const shown: string[] = []
  const route =
    /(?:const (?<name>\w+) = )?createRoute\(\{\s+getParentRoute: \(\) => (?<parent>\w+),(?<body>[\s\S]*?)\n\s*\}\)/g
  for (const { groups } of source.matchAll(route)) {
    const { name, parent = '', body = '' } = groups ?? {}
    const path = `${paths.get(parent)}${/path: '(.*)'/.exec(body)?.[1]}`
    if (name !== undefined) paths.set(name, path)
    // A layout is visited with each of its tabs.
    if (body.includes('component:') && !body.includes('Layout')) shown.push(path)
  }
  return shown
}

async function anEndedRun(stand: ConsoleStand, id = FILMS_ID): Promise<string> {
  const params = { path: { id }, query: { wait: '60s' } }
  const { data } = await stand.api.POST('/pipelines/{id}/run', { params })
  return data!.run_id
}

/** Its mart is locked, so that it does not end before its runner stops waiting for the lock after 30 s. */
async function anActiveRun(stand: ConsoleStand): Promise<string> {
  const { id, spec } = await aPipeline(stand.database)
  await anEndedRun(stand, id)
  const holder = await stand.database.client()
  await holder.query(`BEGIN; LOCK TABLE ${spec.targetTable} IN EXCLUSIVE MODE`)
  const { data } = await stand.api.POST('/pipelines/{id}/run', { params: { path: { id } } })
  return data!.run_id
}

async function aScheduledPipeline(stand: ConsoleStand): Promise<string> {
  const { id } = await aPipeline(stand.database, {
    mode: 'incremental',
    incrementalKey: 'updated_at',
    scheduleInterval: '0 6 * * *',
  })
  await anEndedRun(stand, id)
  return id
}

async function aCheckedPipeline(stand: ConsoleStand): Promise<string> {
  const { id } = await aPipeline(stand.database, {
    checks: [
      { name: 'rating_range', type: 'range', column: 'rating', min: 0, max: 5, on_failure: 'warn' },
      { name: 'titled', type: 'not_null', column: 'title', on_failure: 'fail' },
      { name: 'enough_films', type: 'row_count', min: 1, usual: 20, on_failure: 'fail' },
    ],
  })
  await anEndedRun(stand, id)
  return id
}

async function aStalePipeline(stand: ConsoleStand): Promise<string> {
  const { id } = await aPipeline(stand.database, { freshness: '1s' })
  await anEndedRun(stand, id)
  await stand.api.POST('/pipelines/{id}/disable', { params: { path: { id } } })
  return id
}

/** Follows a pipeline by its name. */
async function aFollower(stand: ConsoleStand): Promise<string> {
  const known = await pipelineNamed(stand.database, 'of_marts')
  if (known !== null) return known
  const { id } = await aPipeline(stand.database, {
    ...{ name: 'of_marts', freshness: '1h', after: ['film_dim_full'] },
  })
  await anEndedRun(stand, id)
  return id
}

async function pipelineNamed(database: TestDatabase, name: string): Promise<string | null> {
  const [row] = await database.query<{ id: string }>('SELECT id FROM etl.etl_pipelines WHERE name = $1', [
    name,
  ])
  return row?.id ?? null
}

async function aToken(stand: ConsoleStand): Promise<string> {
  return (await stand.token('viewer')).id
}

async function aRunInParts(stand: ConsoleStand): Promise<string> {
  const { id } = await aPipeline(stand.database, { parallelism: 3 })
  return anEndedRun(stand, id)
}

async function anAuditEntry(stand: ConsoleStand): Promise<string> {
  await aToken(stand)
  const { data } = await stand.api.GET('/audit', { params: { query: { action: 'token.create', limit: 1 } } })
  return String(data!.items[0]!.id)
}

async function aRunWithTwoAttempts(stand: ConsoleStand): Promise<string> {
  const run_id = await anEndedRun(stand)
  await stand.database.query(
    `UPDATE etl.etl_runs SET attempt = 2, attempts = jsonb_build_array(jsonb_build_object('attempt', 1, 'end', 'failed',
       'endedAt', etl.rfc3339(now()), 'runnerId', 'r1', 'error', 'It broke.', 'errorCode', 'VTR-3104', 'errorHint', 'Fix it.')) WHERE id = $1`,
    [run_id],
  )
  return run_id
}

/** A rule, and a message that was given up, of a channel that is not configured any more. */
async function anUndeliveredNotification({ database }: ConsoleStand): Promise<string> {
  await database.query(
    `INSERT INTO etl.etl_notification_rules (name, events, channel, pipelines, quiet_from, quiet_to, quiet_timezone)
     VALUES ('failures of films', '{failed,recovered,quarantine_grew}', 'former', '{film_*}', '22:00', '07:00', 'Europe/Moscow')
     ON CONFLICT DO NOTHING`,
  )
  const [row] = await database.query<{ id: string }>(
    `WITH made AS (
       INSERT INTO etl.etl_notification_messages (rule_id, rule_name, channel, event, group_key, status, attempts, settled_at, attempted_at, last_error)
       SELECT gen_random_uuid(), 'failures of films', 'former', 'failed', 'DATABASE_UNAVAILABLE', 'DEAD', 10, now(), now(),
              'hooks.example.com responded with 404: no_service. The address of the channel does not exist, or was revoked.'
        WHERE NOT EXISTS (SELECT FROM etl.etl_notification_messages) RETURNING id),
     event AS (
       INSERT INTO etl.etl_outbox (rule_id, event, pipeline_id, pipeline_name, message_id)
       SELECT gen_random_uuid(), 'failed', $1, 'film_dim_full', id FROM made)
     SELECT id FROM made`,
    [FILMS_ID],
  )
  return row?.id ?? ''
}

async function aQuarantinedRow(stand: ConsoleStand): Promise<string> {
  const [row] = await stand.database.query<{ id: string }>(
    `WITH made AS (INSERT INTO etl.etl_quarantine (pipeline_id, run_id, row_key, columns, row_text, reason, sqlstate)
       VALUES ($1, gen_random_uuid(), gen_random_uuid()::text, '{film_id,row_of_axe}', '{a,NULL}', 'numeric field overflow', '22003')
       RETURNING id::text)
     SELECT id FROM made`,
    [FILMS_ID],
  )
  return String(row!.id)
}

/** As a captor elsewhere and a run leave it, with a lost slot, an error and a weak identity. */
export async function aCapturedSource({ database }: ConsoleStand): Promise<string> {
  const known = await pipelineNamed(database, 'captured_stats')
  if (known !== null) return known
  const { id } = await aPipeline(database, {
    ...{
      name: 'captured_stats',
      mode: 'incremental',
      capture: 'wal',
      incrementalKey: null,
      freshness: 'live',
    },
    ...{ keyColumns: ['film_id'], targetTable: 'analytics.captured_stats', enabled: false },
    sourceQuery: 'SELECT film_work_id AS film_id, count(*) AS genres FROM content.genre_film_work GROUP BY 1',
  })
  await database.query(
    `WITH head AS (
       INSERT INTO etl.etl_change_heads (connection, slot, publication, generation, has_slot, held_bytes, lag_bytes, upto, way,
                                         lost, lost_at, error, error_code, error_since, owner, leased_until)
       VALUES ('main', 'vitrina_main_0a1b2c3d', 'vitrina_main_0a1b2c3d', 1763292000000, true, 167772160, 20480, '0/3A1B2C8', 'stream',
               'The source has removed WAL that the slot needed.', now() - interval '2 hours',
               'The source refuses to capture changes.', 'CAPTURE_UNAVAILABLE', now() - interval '5 minutes', 'elsewhere', now() + interval '1 day') RETURNING id)
     INSERT INTO etl.etl_change_positions (head, pipeline_id, generation, end_lsn, relations)
     SELECT head.id, $1, 1763292000000, '0/3A1A000', '{"content.genre_film_work": ["film_work_id"], "content.film_work": ["id"]}' FROM head`,
    [id],
  )
  return id
}

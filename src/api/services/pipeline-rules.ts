import { sinkMistakes } from '../../model/check.js'
import type { Mistake } from '../../model/errors.js'
import { isZone, nextRun } from '../../model/schedule.js'
import { isTooLong, readTableName, type TableName } from '../../model/table-name.js'
import { allowedInstead, isAllowedTarget, kindOf, type TargetRules } from '../../model/target.js'
import { planTypeMistakes, type TaskText, taskPlanMistakes } from '../../model/task-plan.js'
import type { SinkKind } from '../../ports/sink.js'
import { tooLong } from '../../sql/identifiers.js'
import type { PipelineInput } from '../schemas/pipeline-input.js'

type Targets = TargetRules<SinkKind>

/** What the configuration of this server allows. */
export interface PipelineRules {
  readonly targets: Targets
  /** Names of the databases besides the main one. */
  readonly connections: ReadonlySet<string>
}

/** The valid fields; rules about the others are skipped. */
type Draft = Partial<Omit<PipelineInput, 'tasks'>> & { readonly tasks?: readonly TaskText[] }

/** All mistakes that involve more than a single field. */
export function pipelineMistakes(draft: Draft, rules: PipelineRules): Mistake[] {
  return [
    ...sourceMistakes(draft),
    ...targetMistakes(draft, rules.targets),
    ...optionMistakes(draft, rules.targets),
    ...checkMistakes(draft, rules.targets),
    ...connectionMistakes(draft, rules.connections),
    ...keyMistakes(draft),
    ...groupMistakes(draft, rules.targets),
    ...scheduleMistakes(draft),
    ...taskPlanMistakes(draft.tasks ?? []),
    ...typeMistakes(draft),
  ]
}

function sourceMistakes(draft: Draft): Mistake[] {
  const { source_query, source_table, tasks } = draft
  if (source_query === undefined || source_table === undefined) return []
  const hasQuery = (source_query ?? '').trim() !== ''
  if (source_table !== null)
    return [
      ...(hasQuery
        ? [mistake('source_table', 'SOURCE_DOUBLED', 'give source_query or source_table, not both')]
        : []),
      ...tableMistakes(source_table, draft),
    ]
  if ((draft.source_columns?.length ?? 0) > 0)
    return [mistake('source_columns', 'SOURCE_MISSING', 'requires source_table')]
  if (hasQuery || (tasks?.length ?? 0) > 0) return []
  const message = 'must be a query, unless source_table or tasks are given'
  return [mistake('source_query', 'SOURCE_MISSING', message)]
}

/** The guard checks whether the table may be read and exists. */
function tableMistakes(table: string, { source_columns: columns = [] }: Draft): Mistake[] {
  const name = readTableName(table)
  const found = name === null ? [] : longNames('source_table', name)
  if (name === null)
    found.push(
      mistake('source_table', 'SOURCE_NAME', 'must be a table with its schema, such as content.film_work'),
    )
  if (new Set(columns).size < columns.length)
    found.push(mistake('source_columns', 'COLUMN_DOUBLED', 'must contain each column once'))
  return found
}

function longNames(field: string, { schema, table }: TableName): Mistake[] {
  const long = [schema, table].find(isTooLong)
  return long === undefined ? [] : [mistake(field, 'NAME_TOO_LONG', tooLong(long))]
}

function targetMistakes({ target_table, tasks = [] }: Draft, targets: Targets): Mistake[] {
  const addresses = [
    ['target_table', target_table] as const,
    ...tasks.map((task, n) => [`tasks.${n}.target_table`, task.target_table] as const),
  ]
  return addresses.flatMap(([field, address]) =>
    address === undefined || address === null ? [] : addressMistakes(field, address, targets),
  )
}

function addressMistakes(field: string, address: string, targets: Targets): Mistake[] {
  const sink = kindOf(address, targets)
  const problem = sink?.kind.nameProblem(sink.name) ?? null
  if (problem !== null) return [mistake(field, 'TARGET_NAME', problem)]
  const table = sink === null ? readTableName(address) : null
  if (isAllowedTarget(address, targets)) return table === null ? [] : longNames(field, table)
  const { names } = allowedInstead(address, targets)
  const spelling = sink === null ? ', written as schema.table' : ''
  return [
    mistake(field, 'TARGET_REFUSED', `must be one of the allowed targets (${names.join(', ')})${spelling}`),
  ]
}

/** Options of one kind of target are checked by that kind. */
function optionMistakes(draft: Draft, targets: Targets): Mistake[] {
  const { target_table, target_options: options = {}, target_connection, tasks = [] } = draft
  const target = tasks.at(-1)?.target_table ?? target_table
  if (target === undefined) return []
  const sink = kindOf(target, targets)
  if (sink === null)
    return Object.keys(options).map((name) =>
      mistake(`target_options.${name}`, 'OPTION_UNKNOWN', 'is not an option of a table'),
    )
  const connection =
    typeof target_connection === 'string'
      ? [
          mistake(
            'target_connection',
            'TARGET_CONNECTION',
            `is for tables; ${sink.kind.prefix} targets have their own setting`,
          ),
        ]
      : []
  const read = sink.kind.readOptions(options)
  if (!('problems' in read)) return connection
  return [
    ...connection,
    ...read.problems.map(({ field, message }) =>
      mistake(`target_options.${field}`, 'OPTION_INVALID', message),
    ),
  ]
}

/** Rows of a sink are checked before they are sent; the mart behind it cannot be queried. */
function checkMistakes({ checks = [], target_table, tasks = [] }: Draft, targets: Targets): Mistake[] {
  const target = tasks.at(-1)?.target_table ?? target_table
  if (target === undefined || kindOf(target, targets) === null) return []
  return sinkMistakes(checks, target)
}

function connectionMistakes(draft: Draft, known: ReadonlySet<string>): Mistake[] {
  return (['source_connection', 'target_connection'] as const).flatMap((field) => {
    const name = draft[field] ?? null
    if (name === null || known.has(name.toLowerCase())) return []
    const names = [...known].join(', ') || 'none'
    return [mistake(field, 'CONNECTION_UNKNOWN', `must be a configured connection (available: ${names})`)]
  })
}

function keyMistakes(draft: Draft): Mistake[] {
  const { mode, capture, freshness, full_strategy, key_columns } = draft
  const { incremental_key: key, incremental_id_key: idKey } = draft
  const found: Mistake[] = []
  if (mode === 'incremental' && capture === 'key' && key === null)
    found.push(mistake('incremental_key', 'KEY_MISSING', 'is required by mode incremental with capture key'))
  if (key === null && typeof idKey === 'string')
    found.push(mistake('incremental_id_key', 'KEY_MISSING', 'requires incremental_key'))
  if (typeof key === 'string' && key === idKey)
    found.push(mistake('incremental_id_key', 'KEY_DOUBLED', 'must differ from incremental_key'))
  if (mode === 'incremental' && full_strategy === 'replace')
    found.push(mistake('full_strategy', 'MODE_MISMATCH', 'replace requires mode full'))
  if (mode === 'full' && (capture === 'xmin' || capture === 'wal'))
    found.push(mistake('capture', 'MODE_MISMATCH', `${capture} requires mode incremental`))
  else if (freshness === 'live' && (mode !== 'incremental' || capture !== 'wal'))
    found.push(mistake('freshness', 'MODE_MISMATCH', 'live requires mode incremental and capture wal'))
  if (key_columns !== undefined && new Set(key_columns).size < key_columns.length)
    found.push(mistake('key_columns', 'KEY_DOUBLED', 'must contain each column once'))
  return found
}

/** A group is one transaction in a database of PostgreSQL, and one stream for each member. */
function groupMistakes(draft: Draft, targets: Targets): Mistake[] {
  if (draft.consistency !== 'group') return []
  const { target_table, tasks = [], parallelism = 1, engine = 'local' } = draft
  const target = tasks.at(-1)?.target_table ?? target_table
  const refused: [boolean, string][] = [
    [
      target !== undefined && kindOf(target, targets) !== null,
      'group requires a table of PostgreSQL as target',
    ],
    [draft.freshness === 'live', 'group cannot be combined with freshness live'],
    [draft.mode === 'incremental' && draft.capture === 'wal', 'group cannot be combined with capture wal'],
    [parallelism !== 1, 'group requires parallelism 1'],
    [engine !== 'local', 'group requires engine local'],
    [draft.shared_target === true, 'group cannot be combined with shared_target'],
  ]
  return refused.flatMap(([applies, message]) =>
    applies ? [mistake('consistency', 'GROUP_UNSUPPORTED', message)] : [],
  )
}

/** What is wrong with a schedule and its time zone. */
export function scheduleMistakes({ schedule_interval: schedule, schedule_timezone: zone }: Draft): Mistake[] {
  const found =
    zone === undefined || isZone(zone)
      ? []
      : [mistake('schedule_timezone', 'ZONE_UNKNOWN', 'must be a time zone such as Europe/Moscow')]
  const readableIn = found.length === 0 ? (zone ?? 'UTC') : 'UTC'
  if (typeof schedule !== 'string' || isReadable(schedule, readableIn)) return found
  const examples = 'must be an interval such as 15m, 1h30m, PT15M, or a cron expression such as "0 6 * * *"'
  return [...found, mistake('schedule_interval', 'SCHEDULE_UNREADABLE', examples)]
}

function isReadable(schedule: string, zone: string): boolean {
  try {
    const next = nextRun(schedule, zone, new Date())
    // An interval of ten thousand years is valid, but leads to no date.
    return next === null || !Number.isNaN(next.getTime())
  } catch {
    return false
  }
}

function typeMistakes({ type, tasks }: Draft): Mistake[] {
  return type === undefined || tasks === undefined ? [] : planTypeMistakes(type, tasks)
}

function mistake(field: string, code: string, message: string): Mistake {
  return { field, code, message }
}

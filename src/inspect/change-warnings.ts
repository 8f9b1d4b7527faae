import type { Pipeline } from '../model/pipeline.js'
import type { ChangeTrace, Finding } from '../model/validation.js'
import type { Session } from '../postgres/session.js'
import type { Examined } from '../transfers/examine.js'

/** What makes changes expensive to follow, or prevents it. */
export function changeWarnings(pipeline: Pipeline, changes: ChangeTrace | null): Finding[] {
  const found = pipeline.capture === 'wal' && pipeline.deletes === 'sweep' ? [DELETES_UNUSED] : []
  if (changes === null) return found
  return [
    ...found,
    ...traceWarnings(changes),
    ...changes.tables
      .flatMap(({ indexes }) => indexes)
      .filter(isFirst)
      .map(indexWarning),
    ...changes.tables.flatMap(({ identity }) => (identity === null ? [] : identityWarning(identity))),
    ...planWarnings(changes),
  ]
}

const DELETES_UNUSED = warning({
  code: 'DELETES_UNUSED',
  field: 'deletes',
  message: 'Capture "wal" sees deleted rows and removes them from the mart; "deletes" has no effect.',
  hint: 'Leave "deletes" at "ignore".',
})

function traceWarnings({ full, tables }: ChangeTrace): Finding[] {
  if (full !== null)
    return [
      warning({
        code: 'CHANGES_NOT_TRACED',
        field: 'source_query',
        message: `Changes cannot be followed to rows of the mart: ${full} A run that finds changes computes the whole query.`,
        hint: 'Rewrite the query, or accept that a run costs as much as a full one.',
      }),
    ]
  return tables.flatMap(({ table, reason }) =>
    reason === null
      ? []
      : [
          warning({
            code: 'TABLE_NOT_TRACED',
            field: 'source_query',
            message: `A change of ${table} makes a run compute the whole query: ${reason}`,
            hint: `Join ${table} by columns that lead to the key, or accept it for a table that rarely changes.`,
          }),
        ],
  )
}

function indexWarning({ table, statement }: { table: string; statement: string }): Finding {
  return warning({
    code: 'INDEX_MISSING',
    field: 'source_query',
    message: `One changed row makes a run read all of ${table}, which has no index for the lookup.`,
    hint: statement,
  })
}

function isFirst<T extends { statement: string }>(one: T, place: number, all: readonly T[]): boolean {
  return all.findIndex(({ statement }) => statement === one.statement) === place
}

type TableIdentity = NonNullable<ChangeTrace['tables'][number]['identity']>

function identityWarning({ table, isLossless, reason, until, cost, statements }: TableIdentity): Finding[] {
  if (isLossless) return []
  const remedy = [...statements, cost].filter(Boolean).join('; ')
  return [
    warning({
      code: 'IDENTITY_WEAK',
      field: 'capture',
      message: `${table}: ${reason} ${until}`,
      hint: statements.length === 0 ? 'Use another column in the query.' : remedy,
    }),
  ]
}

function planWarnings({ planDependent }: ChangeTrace): Finding[] {
  return planDependent.map(({ column, reason }) =>
    warning({
      code: 'PLAN_DEPENDENT',
      field: 'source_query',
      message: `"${column}" may change although no row has changed: ${reason}`,
      hint: 'Use numeric instead of floating-point numbers, and ORDER BY inside aggregates and windows.',
    }),
  )
}

/** Whether a run would find its source unprepared. */
export async function preparationWarnings(
  source: Session,
  { capture, mode, sourceConnection }: Pipeline,
  { trace }: Pick<Examined, 'trace'>,
): Promise<Finding[]> {
  if (mode !== 'incremental' || capture !== 'wal' || trace === null) return []
  const connection = sourceConnection?.toLowerCase() ?? 'main'
  const tables = trace.tables.map(({ capturedAs }) => capturedAs)
  const [row] = await source.rows(
    `SELECT current_setting('wal_level') AS level,
            (SELECT string_agg(DISTINCT w.schema || '.' || w.name, ', ') FROM unnest($1::text[], $2::text[]) AS w(schema, name)
              WHERE NOT EXISTS (SELECT FROM pg_publication_tables p WHERE p.schemaname = w.schema AND p.tablename = w.name
                                   AND p.pubname ~ ('^vitrina_' || $3 || '_[0-9a-f]{8}$'))) AS missing`,
    [
      tables.map(({ schema }) => schema),
      tables.map(({ table }) => table),
      connection.replace(/[^a-z0-9_]/g, '_').slice(0, 40),
    ],
  )
  const { level, missing } = row!
  const command = `vitrina sources prepare ${connection}`
  if (level !== 'logical')
    return [
      warning({
        code: 'SOURCE_NOT_PREPARED',
        field: 'capture',
        message: `The source "${connection}" has wal_level ${level}: its WAL does not contain the changed rows, and a run fails.`,
        hint: `Set wal_level to logical and restart the server; "${command}" prints everything that is missing.`,
      }),
    ]
  if (missing == null) return []
  return [
    warning({
      code: 'SOURCE_NOT_PREPARED',
      field: 'capture',
      message: `Changes of ${missing} are not published in the source "${connection}", and a run fails.`,
      hint: `Run "${command} --apply" after saving the pipeline.`,
    }),
  ]
}

function warning(finding: Omit<Finding, 'position'>): Finding {
  return { ...finding, position: null }
}

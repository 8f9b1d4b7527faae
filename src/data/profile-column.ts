import type { ColumnProfile, HistogramBucket } from '../model/mart-data.js'
import type { Session } from '../postgres/session.js'
import { quoteIdentifier } from '../sql/identifiers.js'
import { valueType } from '../sql/value-types.js'
import type { MartTableColumn } from './mart-table.js'

const HISTOGRAM_BUCKETS = 20
const MOST_COMMON = 12
const SAMPLES = 5
/** Of a value in a profile. */
export const MOST_PROFILE_CHARACTERS = 200

/** What the profile of a column is computed from. */
export interface ProfiledRows {
  /** The table, with TABLESAMPLE if it is large. */
  readonly relation: string
  readonly quoted: string
  readonly isSample: boolean
  readonly isKey: boolean
  /** The number of rows in the table; an estimate for a sample. */
  readonly rows: number
}

type ValueShape = 'number' | 'time' | 'text' | 'opaque'

const VALUE_SHAPES: Readonly<Record<string, ValueShape>> = {
  ...{
    int2: 'number',
    int4: 'number',
    int8: 'number',
    float4: 'number',
    float8: 'number',
    numeric: 'number',
  },
  ...{ date: 'time', timestamp: 'time', timestamptz: 'time' },
  ...{ bytea: 'opaque', json: 'opaque', jsonb: 'opaque', array: 'opaque' },
}

function shapeOf({ baseType }: MartTableColumn): ValueShape {
  return VALUE_SHAPES[valueType(baseType).kind] ?? 'text'
}

/** The value of a column as a float for its place in the histogram; NULL: infinite, or beyond the range of a float. */
function placeSql(shape: ValueShape, kind: string): string {
  if (shape === 'number') {
    if (/^int/.test(kind)) return 'v::float8'
    const value = kind === 'numeric' ? 'v' : 'v::float8'
    // The bounds also exclude NaN and the infinities, which PostgreSQL sorts after and around all numbers.
    return `CASE WHEN ${value} > '-1e300' AND ${value} < '1e300' THEN v::float8 END`
  }
  return shape === 'time' ? 'CASE WHEN isfinite(v) THEN extract(epoch FROM v)::float8 END' : 'NULL::float8'
}

/**
 * One statement, one reading of the table: `g` has each value with its count, everything else is computed from it.
 * `f1` is the number of values that occur once, for the estimate of distinct values.
 */
function columnSql(column: MartTableColumn, { relation }: ProfiledRows): string {
  const shape = shapeOf(column)
  const { kind } = valueType(column.baseType)
  const name = quoteIdentifier(column.name)
  const value = column.isOrdered ? `${name}::${column.baseType}` : `${name}::text`
  // Types without min() are ordered by their text.
  const ordered = shape === 'number' || shape === 'time' ? 'v' : 'v::text COLLATE "C"'
  const range =
    shape === 'opaque'
      ? 'NULL AS low, NULL AS high'
      : `left((min(${ordered}))::text, ${MOST_PROFILE_CHARACTERS}) AS low, left((max(${ordered}))::text, ${MOST_PROFILE_CHARACTERS}) AS high`
  const buckets = `least(${HISTOGRAM_BUCKETS}, ${/^int/.test(kind) ? 't.hi - t.lo + 1' : HISTOGRAM_BUCKETS})::integer`
  return `WITH s AS (SELECT ${value} AS v FROM ${relation}),
    g AS MATERIALIZED (SELECT v, count(*) AS n, ${placeSql(shape, kind)} AS f FROM s GROUP BY v),
    t AS (SELECT coalesce(sum(n), 0) AS rows, coalesce(sum(n) FILTER (WHERE v IS NULL), 0) AS nulls, count(v) AS d,
                 count(v) FILTER (WHERE n = 1) AS f1, min(f) AS lo, max(f) AS hi, ${range} FROM g),
    h AS (SELECT CASE WHEN t.lo = t.hi THEN 1 ELSE least(width_bucket(f, t.lo, ${/^int/.test(kind) ? 't.hi + 1' : 't.hi'}, ${buckets}), ${buckets}) END AS bucket, sum(n) AS n
            FROM g, t WHERE f IS NOT NULL GROUP BY 1)
    SELECT t.rows::text, t.nulls::text, t.d::text, t.f1::text, t.low, t.high, t.lo::text, t.hi::text,
           (CASE WHEN t.lo IS NOT NULL THEN ${buckets} ELSE 0 END)::text AS buckets,
           (SELECT json_agg(json_build_array(bucket, n) ORDER BY bucket) FROM h)::text AS histogram,
           (SELECT json_agg(json_build_array(left(v::text, ${MOST_PROFILE_CHARACTERS}), n)) FROM (
              SELECT v, n FROM g WHERE v IS NOT NULL ORDER BY n DESC, left(v::text, ${MOST_PROFILE_CHARACTERS}) COLLATE "C" LIMIT ${MOST_COMMON}) c)::text AS common,
           (SELECT json_agg(left(v::text, ${MOST_PROFILE_CHARACTERS})) FROM (SELECT v FROM g WHERE v IS NOT NULL LIMIT ${SAMPLES}) e)::text AS sample
      FROM t`
}

export async function profileColumn(
  session: Session,
  column: MartTableColumn,
  examined: ProfiledRows,
): Promise<ColumnProfile & { readonly rows: number }> {
  const [row] = await session.rows(columnSql(column, examined))
  const number = (name: string) => Number(row![name] ?? 0)
  const shape = shapeOf(column)
  const rows = number('rows')
  const { isSample } = examined
  const ends = isSample ? await indexedEnds(session, column, { ...examined, shape }) : null
  const scale = isSample && rows > 0 ? examined.rows / rows : 1
  const common = (JSON.parse(row!.common ?? '[]') as [string, number][]).map(([value, count]) => ({
    value,
    count,
  }))
  const isPlotted = shape === 'number' || shape === 'time'
  return {
    ...described(column, examined),
    rows,
    skipped: null,
    nulls: Math.round(number('nulls') * scale),
    nullsExact: !isSample || column.notNull,
    distinct: isSample
      ? estimateDistinct({ rows: rows - number('nulls'), total: examined.rows }, number('d'), number('f1'))
      : number('d'),
    distinctExact: !isSample,
    min: ends?.low ?? row!.low ?? null,
    max: ends?.high ?? row!.high ?? null,
    rangeExact: !isSample || ends !== null,
    histogram: isPlotted ? bucketsOf(row!, shape, valueType(column.baseType).kind) : [],
    common: isPlotted ? [] : common,
    sample: JSON.parse(row!.sample ?? '[]') as string[],
  }
}

/** A column that was not examined, with the reason. */
export function skippedColumn(
  column: MartTableColumn,
  examined: ProfiledRows,
  reason: string,
): ColumnProfile {
  return {
    ...described(column, examined),
    skipped: reason,
    ...{ nulls: 0, nullsExact: false, distinct: 0, distinctExact: false },
    ...{ min: null, max: null, rangeExact: false, histogram: [], common: [], sample: [] },
  }
}

function described({ name, type, notNull }: MartTableColumn, { isKey }: ProfiledRows) {
  return { name, type, notNull, isKey }
}

/** Both ends of the whole table, where an index has them. */
async function indexedEnds(
  session: Session,
  column: MartTableColumn,
  { quoted, shape }: ProfiledRows & { readonly shape: ValueShape },
): Promise<{ readonly low: string | null; readonly high: string | null } | null> {
  if (!column.isIndexed || (shape !== 'number' && shape !== 'time')) return null
  const name = quoteIdentifier(column.name)
  const [row] = await session.rows(
    `SELECT min(${name})::text AS low, max(${name})::text AS high FROM ${quoted}`,
  )
  return { low: row!.low ?? null, high: row!.high ?? null }
}

/** The estimator of Haas and Stokes that ANALYZE uses too: n·d / (n − f1 + f1·n/N). */
export function estimateDistinct(
  { rows, total }: { readonly rows: number; readonly total: number },
  distinct: number,
  once: number,
): number {
  if (rows === 0) return 0
  const estimate = (rows * distinct) / (rows - once + (once * rows) / Math.max(total, rows))
  return Math.round(Math.min(Math.max(estimate, distinct), total))
}

function bucketsOf(
  row: Readonly<Record<string, string | null>>,
  shape: ValueShape,
  kind: string,
): HistogramBucket[] {
  if (row.lo === null || row.lo === undefined) return []
  const [low, high, buckets] = [Number(row.lo), Number(row.hi), Number(row.buckets)]
  const counts = new Map(JSON.parse(row.histogram ?? '[]') as [number, number][])
  if (low === high) return [{ from: edge(low, shape), to: edge(high, shape), count: counts.get(1) ?? 0 }]
  const end = /^int/.test(kind) ? high + 1 : high
  const at = (n: number) => edge(n === buckets ? end : low + ((end - low) * n) / buckets, shape)
  return Array.from({ length: buckets }, (_, n) => ({
    ...{ from: at(n), to: at(n + 1) },
    count: counts.get(n + 1) ?? 0,
  }))
}

const LATEST_MS = 8.64e15

/** Edges are places on an axis, not values of the mart: 12 digits are enough. */
function edge(value: number, shape: ValueShape): string {
  if (shape === 'time') {
    const ms = value * 1000
    return Math.abs(ms) <= LATEST_MS ? new Date(ms).toISOString() : String(value)
  }
  return String(Number(value.toPrecision(12)))
}

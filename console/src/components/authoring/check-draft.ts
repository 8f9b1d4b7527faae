import type { CheckState } from '../../api/wire.js'

export const TYPES = [
  'not_null',
  'unique',
  'accepted_values',
  'range',
  'relationship',
  'row_count',
  'freshness',
  'expression',
] as const satisfies readonly CheckState['type'][]
export type CheckType = CheckState['type']

export const ON_FAILURE = [
  'fail',
  'quarantine',
  'warn',
] as const satisfies readonly CheckState['on_failure'][]

/** Types that can be about the rows of a batch or about the mart. */
export const OVER_TYPES: ReadonlySet<CheckType> = new Set(['unique', 'relationship', 'expression'])

type Scalar = string | number | boolean

/** A check while it is edited: any field may be missing or unfinished. The server validates it. */
export interface CheckDraft {
  readonly name: string
  readonly type: CheckType
  readonly on_failure: CheckState['on_failure']
  readonly column?: string
  readonly columns?: readonly string[]
  readonly values?: readonly Scalar[]
  readonly min?: Scalar
  readonly max?: Scalar
  readonly usual?: Scalar
  readonly max_age?: string
  readonly to?: string
  readonly to_column?: string
  readonly to_columns?: readonly string[]
  readonly sql?: string
  readonly over?: string
}

/** The first column must have a value: the check that most marts need first. */
export function newCheck(checks: readonly CheckDraft[], columns: readonly string[]): CheckDraft {
  const [column = ''] = columns
  return {
    name: freeName(checks, column === '' ? 'check' : `${column}_not_null`),
    type: 'not_null',
    column,
    on_failure: 'fail',
  }
}

function freeName(checks: readonly CheckDraft[], wanted: string): string {
  const isFree = (name: string) => !checks.some((check) => check.name === name)
  if (isFree(wanted)) return wanted
  for (let n = 2; ; n++) if (isFree(`${wanted}_${n}`)) return `${wanted}_${n}`
}

export function columnsOfCheck({ column, columns }: CheckDraft): string[] {
  return [...(columns ?? (column === undefined || column === '' ? [] : [column]))]
}

/** Another type has other fields; the columns are kept where the new type has them. */
export function retyped(check: CheckDraft, type: CheckType, columns: readonly string[]): CheckDraft {
  const { name, on_failure } = check
  const column = columnsOfCheck(check)[0] ?? columns[0] ?? ''
  const base = { name, type, on_failure }
  switch (type) {
    case 'accepted_values':
      return { ...base, column, values: [] }
    case 'freshness':
      return { ...base, column, max_age: '1d' }
    case 'row_count':
      return { ...base, min: 1 }
    case 'expression':
      return { ...base, sql: `${column} IS NOT NULL` }
    case 'relationship':
      return { ...base, column, to: '' }
    default:
      return { ...base, column }
  }
}

type Change = { readonly [F in keyof CheckDraft]?: CheckDraft[F] | undefined }

/** Empty limits are left out, numbers are numbers, and one column is written as `column`. */
export function changedCheck(check: CheckDraft, change: Change): CheckDraft {
  const next: Record<string, unknown> = { ...check, ...change }
  for (const field of ['min', 'max', 'usual']) next[field] = typedValue(next[field])
  for (const [several, one] of [
    ['columns', 'column'],
    ['to_columns', 'to_column'],
  ] as const) {
    const names = next[several] as readonly string[] | undefined
    if (names === undefined || names.length > 1) continue
    delete next[several]
    next[one] = names[0]
  }
  if (Array.isArray(next.values)) next.values = next.values.map(typedValue)
  for (const [field, value] of Object.entries(next)) if (value === undefined) delete next[field]
  return next as unknown as CheckDraft
}

/** A text that is a number is one; a number that is not complete yet stays text. */
function typedValue(value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (value.trim() === '') return undefined
  return /^-?(?:0|[1-9]\d{0,14})(?:\.\d{0,9}[1-9])?$/.test(value) ? Number(value) : value
}

export function limitText(value: Scalar | undefined): string {
  return value === undefined ? '' : String(value)
}

export function valueTexts({ values = [] }: CheckDraft): string[] {
  return values.map(String)
}

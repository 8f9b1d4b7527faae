import type { Finding } from '../../model/validation.js'
import type { Column } from '../../sql/selection.js'
import { valueType } from '../../sql/value-types.js'
import type { RowCodec, StoredColumn } from './row-codec.js'
import { targetFinding } from './schema.js'

/** Findings about the query's columns that need no server. */
export function examineColumns(
  columns: readonly Column[],
  codec: RowCodec,
): { readonly errors: Finding[]; readonly warnings: Finding[] } {
  return {
    errors: [...codec.key.flatMap(keyProblem), ...columns.flatMap(columnNameFindings)],
    warnings: columns.flatMap((column, index) => contractWarning(column, codec.columns[index]!)),
  }
}

function keyProblem({ name, codec }: StoredColumn): Finding[] {
  if (codec.isNullable && !codec.type.startsWith('Float')) return []
  const what = codec.isNullable ? 'a floating-point number' : 'an array'
  return [
    targetFinding({
      code: 'TARGET_VALUE',
      message: `Column "${name}" is ${what} (${codec.type}), which cannot identify a row in ClickHouse.`,
      hint: 'Choose other key_columns, or cast the column to numeric or text in the query.',
      field: 'key_columns',
    }),
  ]
}

function columnNameFindings({ name }: Column): Finding[] {
  if (!name.startsWith('_vitrina_')) return []
  return [
    targetFinding({
      code: 'TARGET_VALUE',
      message: `The query returns a column "${name}"; names that begin with _vitrina_ are reserved for hidden columns.`,
      hint: 'Rename the column in the query.',
      field: 'source_query',
    }),
  ]
}

/** Deviations from the exact mapping in docs/guides/clickhouse.md. */
function contractWarning({ name, type, notNull }: Column, { codec }: StoredColumn): Finding[] {
  const warn = (message: string, hint: string) => [
    targetFinding({
      code: 'TARGET_VALUE',
      message: `Column "${name}" (${type}) ${message}`,
      hint,
      field: 'source_query',
    }),
  ]
  const value = valueType(type)
  if (value.kind === 'array' && !notNull)
    return warn(
      'becomes an empty array where it is NULL: ClickHouse has no NULL arrays.',
      'If the difference matters, add a column such as "x IS NULL AS x_is_null".',
    )
  if (value.kind !== 'numeric') return []
  if (codec.type === 'String')
    return warn(
      'is stored as text, which is exact but does not sort or sum as a number.',
      'Cast it to numeric(p,s) with at most 76 digits in the query.',
    )
  if (value.precision === null)
    return warn(
      `is stored as ${codec.type}; rows with more digits are rejected, never rounded.`,
      'Cast it to numeric(p,s) in the query for a smaller type, or set the option numeric to string.',
    )
  return []
}

import type { Pipeline } from '../model/pipeline.js'
import type { Finding } from '../model/validation.js'

type Keys = Pick<Pipeline, 'incrementalKey' | 'incrementalIdKey' | 'keyColumns'>

/** The keys of a pipeline that its query does not return, each with its field. */
export function missingKeys(pipeline: Keys, columns: readonly { readonly name: string }[]): Finding[] {
  const names = columns.map(({ name }) => name)
  return namedKeys(pipeline)
    .filter(({ column }) => !names.includes(column))
    .map(({ field, column }) => ({
      code: 'KEY_MISSING',
      field,
      message: `The query returns no column "${column}"; it returns ${names.join(', ')}.`,
      hint: `Add the column to the query, or correct ${field}.`,
      position: null,
    }))
}

function namedKeys({
  incrementalKey,
  incrementalIdKey,
  keyColumns,
}: Keys): { field: string; column: string }[] {
  return [
    ...(incrementalKey === null ? [] : [{ field: 'incremental_key', column: incrementalKey }]),
    ...(incrementalIdKey === null ? [] : [{ field: 'incremental_id_key', column: incrementalIdKey }]),
    ...keyColumns.map((column) => ({ field: 'key_columns', column })),
  ]
}

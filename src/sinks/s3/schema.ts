import { VitrinaError } from '../../model/errors.js'
import type { Finding } from '../../model/validation.js'
import type { Column } from '../../sql/selection.js'
import { valueType } from '../../sql/value-types.js'
import type { S3Options } from './config.js'
import { MANIFEST, martAddress } from './layout.js'
import type { Manifest } from './manifest.js'
import { decimalShape, type Storage, storageOf, WIDEST_DECIMAL } from './types.js'

/** The mart that a run would write. */
export interface MartShape {
  /** `marts/film_dim/` */
  readonly prefix: string
  readonly columns: readonly Column[]
  readonly key: readonly string[]
  readonly options: S3Options
}

export function describeColumns(
  storages: readonly Storage[],
  columns: readonly Column[],
): Manifest['columns'] {
  return storages.map(({ name, label }, index) => ({ name, type: columns[index]!.type, stored: label }))
}

/** Problems of these columns, on their own and compared with the existing mart. */
export function shapeProblems(shape: MartShape, manifest: Manifest | null): Finding[] {
  const { columns, options } = shape
  const names = columns.map(({ name }) => name)
  const missing = [...shape.key, ...(options.partition_by === null ? [] : [options.partition_by])].filter(
    (name) => !names.includes(name),
  )
  const absent = missing.map((name) =>
    finding({
      code: 'KEY_MISSING',
      message: `The query returns no column "${name}".`,
      hint: 'Add the column, or correct key_columns and partition_by.',
      field: 'target_options',
    }),
  )
  const list = columns.find(({ name, type }) => name === options.partition_by && type.endsWith('[]'))
  const unfit =
    list === undefined
      ? []
      : [
          finding({
            code: 'TARGET_VALUE',
            message: `"${list.name}" is an array; a partition needs a single value.`,
            hint: 'Choose another column for partition_by.',
            field: 'target_options',
          }),
        ]
  return [...absent, ...unfit, ...(manifest === null ? [] : differences(shape, manifest))]
}

function differences(shape: MartShape, manifest: Manifest): Finding[] {
  const before = new Map(manifest.columns.map(({ name, stored }) => [name, stored]))
  const now = new Map(shape.columns.map((column) => [column.name, storageOf(column).label]))
  const changes = [
    ...[...now].flatMap(([name, stored]) =>
      before.has(name) ? [] : [`column "${name}" (${stored}) is new`],
    ),
    ...[...before].flatMap(([name, stored]) => {
      const other = now.get(name)
      if (other === undefined) return [`column "${name}" (${stored}) is missing`]
      return other === stored ? [] : [`column "${name}" was ${stored} and is now ${other}`]
    }),
    ...(manifest.key.join() === shape.key.join()
      ? []
      : [`the key was ${manifest.key.join(', ')} and is now ${shape.key.join(', ')}`]),
    ...(manifest.partition_by === shape.options.partition_by
      ? []
      : [
          `partition_by was ${manifest.partition_by ?? 'none'} and is now ${shape.options.partition_by ?? 'none'}`,
        ]),
  ]
  const hint = `Change the query to match, choose another prefix, or remove ${shape.prefix}${MANIFEST} and run the pipeline in full to rebuild the mart.`
  return changes.map((what) =>
    finding({
      code: 'TARGET_MISMATCH',
      message: `The existing files of ${martAddress(shape.prefix)} do not match: ${what}.`,
      hint,
      field: 'source_query',
    }),
  )
}

export function warnings(columns: readonly Column[]): Finding[] {
  return columns.flatMap(({ name, type }) => {
    const value = valueType(type)
    const scalar = value.kind === 'array' ? value.of : value
    if (scalar.kind !== 'numeric' || decimalShape(scalar) !== null) return []
    return [
      finding({
        code: 'TARGET_VALUE',
        message: `"${name}" is ${type}, but Parquet decimals have at most ${WIDEST_DECIMAL} digits and a fixed scale: it is stored as text.`,
        hint: `Cast it in the query, for example "${name}"::numeric(18,4).`,
        field: 'source_query',
      }),
    ]
  })
}

/** Throws the same findings as an error, for a run. */
export function requireFit(shape: MartShape, manifest: Manifest | null): void {
  const [first] = shapeProblems(shape, manifest)
  if (first !== undefined) throw new VitrinaError(first.code as 'TARGET_MISMATCH', first.message, first.hint)
}

function finding(
  one: Omit<Finding, 'code' | 'position'> & {
    readonly code: 'KEY_MISSING' | 'TARGET_MISMATCH' | 'TARGET_VALUE'
  },
): Finding {
  return { ...one, position: null }
}

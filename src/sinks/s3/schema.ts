import { VitrinaError } from '../../model/errors.js'
import type { Finding } from '../../model/validation.js'
import type { Column } from '../../sql/selection.js'
import { valueType } from '../../sql/value-types.js'
import type { S3Options } from './config.js'
import { addressOf, MANIFEST } from './layout.js'
import type { Manifest } from './manifest.js'
import { decimalShape, type Storage, storageOf, WIDEST_DECIMAL } from './types.js'

/** What a run would write, before anything is opened. */
export interface Shape {
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

/** What speaks against these columns: by themselves, and beside the mart that is there. */
export function problems(shape: Shape, manifest: Manifest | null): Finding[] {
  const { columns, options } = shape
  const names = columns.map(({ name }) => name)
  const missing = [...shape.key, ...(options.partition_by === null ? [] : [options.partition_by])].filter(
    (name) => !names.includes(name),
  )
  const absent = missing.map((name) =>
    finding(
      'KEY_MISSING',
      `The query returns no column "${name}".`,
      'Add the column, or correct key and partition_by.',
      'target_options',
    ),
  )
  const list = columns.find(({ name, type }) => name === options.partition_by && type.endsWith('[]'))
  const unfit =
    list === undefined
      ? []
      : [
          finding(
            'TARGET_VALUE',
            `"${list.name}" is an array; a partition has one value.`,
            'Choose another column for partition_by.',
            'target_options',
          ),
        ]
  return [...absent, ...unfit, ...(manifest === null ? [] : differences(shape, manifest))]
}

function differences(shape: Shape, manifest: Manifest): Finding[] {
  const before = new Map(manifest.columns.map(({ name, stored }) => [name, stored]))
  const now = new Map(shape.columns.map((column) => [column.name, storageOf(column).label]))
  const told = [
    ...[...now].flatMap(([name, stored]) =>
      before.has(name) ? [] : [`column "${name}" (${stored}) is new`],
    ),
    ...[...before].flatMap(([name, stored]) => {
      const other = now.get(name)
      if (other === undefined) return [`column "${name}" (${stored}) is missing`]
      return other === stored ? [] : [`column "${name}" was ${stored} and is ${other} now`]
    }),
    ...(manifest.key.join() === shape.key.join()
      ? []
      : [`the key was ${manifest.key.join(', ')} and is ${shape.key.join(', ')} now`]),
    ...(manifest.partition_by === shape.options.partition_by
      ? []
      : [
          `partition_by was ${manifest.partition_by ?? 'none'} and is ${shape.options.partition_by ?? 'none'} now`,
        ]),
  ]
  const hint = `Make the query fit, choose another prefix, or remove ${shape.prefix}${MANIFEST} and run the pipeline in full: the mart is then built anew.`
  return told.map((what) =>
    finding(
      'TARGET_MISMATCH',
      `The files of ${addressOf(shape.prefix)} do not fit: ${what}.`,
      hint,
      'source_query',
    ),
  )
}

export function warnings(columns: readonly Column[]): Finding[] {
  return columns.flatMap(({ name, type }) => {
    const value = valueType(type)
    const scalar = value.kind === 'array' ? value.of : value
    if (scalar.kind !== 'numeric' || decimalShape(scalar) !== null) return []
    return [
      finding(
        'TARGET_VALUE',
        `"${name}" is ${type}, and a decimal of Parquet has at most ${WIDEST_DECIMAL} digits and a fixed scale: it is kept as text.`,
        `Cast it in the query, for example "${name}"::numeric(18,4).`,
        'source_query',
      ),
    ]
  })
}

/** The same as an error, for a run. */
export function requireFit(shape: Shape, manifest: Manifest | null): void {
  const [first] = problems(shape, manifest)
  if (first !== undefined) throw new VitrinaError(first.code as 'TARGET_MISMATCH', first.message, first.hint)
}

function finding(
  code: 'KEY_MISSING' | 'TARGET_MISMATCH' | 'TARGET_VALUE',
  message: string,
  hint: string,
  field: string,
): Finding {
  return { code, message, hint, field, position: null }
}

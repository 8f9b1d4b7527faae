import type { Message, OldTuple, RawValue, Relation, Tuple } from './decoder.js'

/** Column → its text. A column that is absent is unknown, which is not the same as NULL. */
export type Image = Readonly<Record<string, string | null>>

/** I inserted, U updated, D deleted, T truncated, or changed in too many rows to list them. */
export type Operation = 'I' | 'U' | 'D' | 'T'

export interface LoggedChange {
  readonly relation: string
  readonly op: Operation
  readonly old: Image | null
  readonly new: Image | null
}

/** Which columns of each table the log keeps, besides those of its identity. */
export type Needs = ReadonlyMap<string, ReadonlySet<string>>

/** Longer values are left out: they are not keys, and one of 1 GB must not pass through the log. */
const LONGEST_BYTES = 8_192

const NO_COLUMNS: ReadonlySet<string> = new Set()

/**
 * What the log keeps of a message. A change of a published table is always kept, also while no pipeline is known to
 * need it: one that registers at this moment would miss it.
 */
export function changesOf(message: Message, needs: Needs): LoggedChange[] {
  switch (message.tag) {
    case 'insert':
      return [change(message.relation, 'I', { old: null, new: rowOf(message.relation, message.next, needs) })]
    case 'delete':
      return [
        change(message.relation, 'D', { old: oldOf(message.relation, message.previous, needs), new: null }),
      ]
    case 'update':
      return [change(message.relation, 'U', updateOf(message, needs))]
    case 'truncate':
      return message.relations.map((relation) => change(relation, 'T', { old: null, new: null }))
    default:
      return []
  }
}

function change(relation: Relation, op: Operation, images: Pick<LoggedChange, 'old' | 'new'>): LoggedChange {
  return { relation: relation.name, op, ...images }
}

type MutableImage = Record<string, string | null>

function updateOf(
  { relation, previous, next }: Extract<Message, { tag: 'update' }>,
  needs: Needs,
): Pick<LoggedChange, 'old' | 'new'> {
  // Without an old row, the columns of the identity did not change.
  const old = oldOf(relation, previous ?? { isKeyOnly: true, values: next }, needs)
  const row: MutableImage = rowOf(relation, next, needs)
  relation.columns.forEach(({ name }, index) => {
    // A value that was not sent did not change either.
    if (next[index] === undefined && name in old) row[name] = old[name]!
  })
  return { old, new: row }
}

function oldOf(relation: Relation, { isKeyOnly, values }: OldTuple, needs: Needs): MutableImage {
  return imageOf(
    relation,
    values,
    (column) => (!isKeyOnly || column.isKey) && isKept(relation, column, needs),
  )
}

function rowOf(relation: Relation, values: Tuple, needs: Needs): MutableImage {
  return imageOf(relation, values, (column) => isKept(relation, column, needs))
}

type RelationColumn = Relation['columns'][number]

/** With REPLICA IDENTITY FULL every column belongs to the identity; then only those that are needed are kept. */
function isKept(relation: Relation, { name, isKey }: RelationColumn, needs: Needs): boolean {
  if (isKey && relation.identity !== 'f') return true
  return (needs.get(relation.name) ?? NO_COLUMNS).has(name)
}

function imageOf(
  relation: Relation,
  values: Tuple,
  isWanted: (column: RelationColumn) => boolean,
): MutableImage {
  const image: MutableImage = {}
  relation.columns.forEach((column, index) => {
    const value = values[index]
    if (value === undefined || !isWanted(column)) return
    const text = value === null ? null : textOf(value)
    if (text !== undefined) image[column.name] = text
  })
  return image
}

/** Undefined: too long, or not UTF-8 (a database with the encoding SQL_ASCII), so the value is unknown. */
function textOf(value: RawValue): string | undefined {
  if (value.length > LONGEST_BYTES) return undefined
  const text = value.toString('utf8')
  return text.includes('\uFFFD') && !Buffer.from(text, 'utf8').equals(value) ? undefined : text
}

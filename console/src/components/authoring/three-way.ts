import type { Pipeline } from '../../api/wire.js'
import { isSame, type Spec, type SpecField, specOf } from './spec.js'
import type { UnsavedChanges } from './use-edit.js'

export type MergeSide = 'mine' | 'theirs'

/** A field that was changed since the draft was started. */
export interface FieldMerge {
  readonly field: SpecField
  readonly base: unknown
  readonly theirs: unknown
  readonly mine: unknown
  /** Who changed it: `both` is a conflict, unless both made the same change. */
  readonly by: 'mine' | 'theirs' | 'both' | 'agreed'
}

/** My changes, their changes, and conflicts. */
export function mergeOf({ base, fields }: UnsavedChanges, latest: Pipeline): FieldMerge[] {
  const before = specOf(base)
  const after = specOf(latest)
  const names = Object.keys({ ...before, ...fields }) as SpecField[]
  const found = names.flatMap((field) => {
    const isMine = Object.hasOwn(fields, field)
    const isTheirs = !isSame(before[field], after[field])
    if (!isMine && !isTheirs) return []
    const mine = isMine ? fields[field] : before[field]
    const by = !isMine ? 'theirs' : !isTheirs ? 'mine' : isSame(mine, after[field]) ? 'agreed' : 'both'
    return [{ field, base: before[field], theirs: after[field], mine, by } as const]
  })
  return found.sort((one, other) => ORDER.indexOf(one.by) - ORDER.indexOf(other.by))
}

/** Conflicts first. */
const ORDER = ['both', 'mine', 'theirs', 'agreed']

/** The fields to save on top of the latest version. Without a choice, mine wins, so that no edit is lost. */
export function chosenFields(
  merge: readonly FieldMerge[],
  choices: Readonly<Record<string, MergeSide>>,
): Partial<Spec> {
  return Object.fromEntries(
    merge
      .filter(({ field, by }) => (by === 'mine' || by === 'both') && choices[field] !== 'theirs')
      .map(({ field, mine }) => [field, mine]),
  )
}

/** A word of lower-case letters, digits, - and _. The function etl.are_tags checks the same in the database. */
export const TAG_PATTERN = /^[a-z0-9][a-z0-9_-]{0,39}$/
export const MOST_TAGS = 20

/** Pipelines without a named tag. */
const REST = '*'

/** How many runs with a tag a runner executes at the same time; `*` is for pipelines without a named tag. */
export type TagSlots = Readonly<Record<string, number>>

/**
 * The entries of which a run with these tags uses one slot each. Empty: the runner does not take it. The function
 * etl.runner_takes decides the same in the database, and a test compares the two.
 */
export function entriesOf(slots: TagSlots, tags: readonly string[]): string[] {
  const named = tags.filter((tag) => Object.hasOwn(slots, tag))
  if (named.length === 0) return (slots[REST] ?? 0) > 0 ? [REST] : []
  return named.every((tag) => slots[tag]! > 0) ? named : []
}

/** What is left of the slots while these runs are in progress; each is given by the tags of its pipeline. */
export function freeSlots(slots: TagSlots, runs: Iterable<readonly string[]>): TagSlots {
  const free: Record<string, number> = { ...slots }
  for (const tags of runs) for (const entry of entriesOf(slots, tags)) free[entry]! -= 1
  return free
}

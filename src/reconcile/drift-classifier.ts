import type { Committed } from '../checkpoints/checkpoint.js'
import type { ReadProgress } from './read-progress.js'
import type { RowWriter, RowWriters } from './row-writers.js'
import { type KeyTexts, serializeKey } from './side.js'
import type { SourceChanges } from './source-changes.js'

/** A row that differs, with what each side records about it. */
export interface Difference {
  readonly key: KeyTexts
  /** The part of the source that contains the row; null: the source does not have it. */
  readonly part: number | null
  /** The version of the row in the mart; null: the mart does not have it. */
  readonly version: string | null
}

export interface Differences {
  readonly missing: readonly Difference[]
  readonly extra: readonly Difference[]
  readonly different: readonly Difference[]
}

export interface Classification {
  readonly drift: Differences
  /** Rows that differ because the pipeline has not processed a change yet. */
  readonly onTheirWay: number
  /** How many of those might be drift. */
  readonly undecided: number
}

type Cause = 'drift' | 'on its way' | 'undecided'

interface ClassifierParts {
  readonly progress: ReadProgress
  readonly trace: SourceChanges
  readonly writers: RowWriters
  /** Whether a run has begun or ended since `progress` was read. Then it may have written rows that are compared. */
  readonly hasRunSince: () => Promise<boolean>
}

/**
 * Separates drift from rows that the pipeline will still process. Two sources of evidence: the source knows which rows have
 * changed since the pipeline read them, the mart knows which rows another session has written. docs/architecture.md has
 * the rules.
 */
export class DriftClassifier {
  #progress: ReadProgress
  readonly #trace: SourceChanges
  readonly #writers: RowWriters
  readonly #hasRunSince: () => Promise<boolean>

  constructor({ progress, trace, writers, hasRunSince }: ClassifierParts) {
    this.#hasRunSince = hasRunSince
    this.#progress = progress
    this.#trace = trace
    this.#writers = writers
  }

  /** SQL on a row of the query: the number of the part that contains it. */
  get partOfRow(): string {
    const cases = this.#progress.parts.map(({ where }, index) => `WHEN ${where} THEN ${index}`)
    return `CASE ${cases.join(' ')} END`
  }

  /** Called after the rows were read. */
  async classify({ missing, extra, different }: Differences): Promise<Classification> {
    if (await this.#hasRunSince()) this.#progress = { ...this.#progress, isUnderWay: true }
    const unread = await this.#unread([...missing, ...different])
    const causes = {
      missing: missing.map(unread),
      different: await this.#causesOfDifferent(different, unread),
      extra: await this.#causesOfExtra(extra),
    }
    const all = Object.values(causes).flat()
    const drift = (rows: readonly Difference[], found: readonly Cause[]) =>
      rows.filter((_, index) => found[index] === 'drift')
    const undecided = all.filter((cause) => cause === 'undecided').length
    return {
      drift: {
        missing: drift(missing, causes.missing),
        extra: drift(extra, causes.extra),
        different: drift(different, causes.different),
      },
      onTheirWay: undecided + all.filter((cause) => cause === 'on its way').length,
      undecided,
    }
  }

  /** Whether the source has a change of a row that the pipeline has not read. */
  async #unread(rows: readonly Difference[]): Promise<(row: Difference) => Cause> {
    const causes = new Map<string, Cause>()
    for (const [index, { read }] of this.#progress.parts.entries()) {
      const keys = rows.filter(({ part }) => part === index).map(({ key }) => key)
      if (keys.length === 0 || read === 'all') continue
      const changed = read === 'none' ? null : await this.#trace.changed(keys, read)
      // Where changes cannot be traced to keys, any change in the tables may concern the row.
      const cause: Cause =
        read === 'none'
          ? 'on its way'
          : changed !== null || !(await this.#trace.hasChanges(read))
            ? 'drift'
            : 'undecided'
      for (const key of keys)
        causes.set(serializeKey(key), changed?.has(serializeKey(key)) === true ? 'on its way' : cause)
    }
    return ({ key }) => causes.get(serializeKey(key)) ?? 'drift'
  }

  /**
   * Where every run compares every row, the mart is asked too: if the row is as the pipeline left it, the source has
   * changed, even if no trace of the change is left.
   */
  async #causesOfDifferent(
    rows: readonly Difference[],
    unread: (row: Difference) => Cause,
  ): Promise<readonly Cause[]> {
    const { rereads, isSpread, refusedRows, equalUntil, wrote, isUnderWay } = this.#progress
    const isOpen = (row: Difference) => {
      const cause = unread(row)
      return cause === 'undecided' || (cause === 'drift' && isSpread)
    }
    if (!rereads || refusedRows || !rows.some(isOpen)) return rows.map(unread)
    const writerOf = await this.#writerOf(rows.filter(isOpen), equalUntil)
    const otherwise = (row: Difference) => (wrote !== null || isUnderWay ? 'undecided' : unread(row))
    return rows.map((row) => (isOpen(row) ? (CAUSE_BY_WRITER[writerOf(row)] ?? otherwise(row)) : unread(row)))
  }

  /** A row that the source does not have is drift unless a run is going to remove it. */
  async #causesOfExtra(rows: readonly Difference[]): Promise<readonly Cause[]> {
    const { leavesSince, removes, presentUntil, isUnderWay, beginning } = this.#progress
    if (rows.length === 0) return []
    if (removes && beginning && presentUntil === null) return rows.map(() => 'on its way')
    const keys = rows.map(({ key }) => key)
    const changed = leavesSince === null ? null : await this.#trace.changed(keys, leavesSince)
    const writerOf = removes ? await this.#writerOf(rows, presentUntil) : () => 'other session' as const
    return rows.map((row) => {
      if (changed?.has(serializeKey(row.key)) === true) return 'on its way'
      return CAUSE_BY_WRITER[writerOf(row)] ?? (isUnderWay ? 'undecided' : 'drift')
    })
  }

  async #writerOf(
    rows: readonly Difference[],
    acceptedUntil: Committed | null,
  ): Promise<(row: Difference) => RowWriter> {
    const { wrote, isUnderWay } = this.#progress
    const versions = new Set(rows.flatMap(({ version }) => (version === null ? [] : [version])))
    const writers = await this.#writers.of(versions, { acceptedUntil, wrote, isWriting: isUnderWay })
    return ({ version }) => writers.get(version ?? '') ?? 'unknown'
  }
}

/** `unknown` leaves the cause open. */
const CAUSE_BY_WRITER: Readonly<Partial<Record<RowWriter, Cause>>> = {
  pipeline: 'on its way',
  accepted: 'on its way',
  'other session': 'drift',
}

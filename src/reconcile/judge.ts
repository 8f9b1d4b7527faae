import type { Committed } from '../checkpoints/checkpoint.js'
import type { Arrival } from './arrival.js'
import { type KeyTexts, keyText } from './side.js'
import type { Trace } from './trace.js'
import type { Hearing, Testimony } from './witness.js'

/** A row that differs, and what each side knows of it. */
export interface Difference {
  readonly key: KeyTexts
  /** The part of the source that holds the row; null: the source does not have it. */
  readonly part: number | null
  /** The version of the row in the mart; null: the mart does not have it. */
  readonly version: string | null
}

export interface Differences {
  readonly missing: readonly Difference[]
  readonly extra: readonly Difference[]
  readonly different: readonly Difference[]
}

export interface Verdict {
  readonly drift: Differences
  readonly onTheirWay: number
  /** How many of those might be drift all the same. */
  readonly undecided: number
}

type Ruling = 'drift' | 'on its way' | 'undecided'

/**
 * Tells drift from rows that are merely on their way. Two witnesses: the source knows which rows have changed since the
 * pipeline read them, the mart knows which rows somebody else has written. docs/architecture.md has the rules.
 */
export class Judge {
  readonly #arrival: Arrival
  readonly #trace: Trace
  readonly #witness: Hearing

  constructor(arrival: Arrival, trace: Trace, witness: Hearing) {
    this.#arrival = arrival
    this.#trace = trace
    this.#witness = witness
  }

  /** SQL on a row of the query that tells which part holds it. */
  get partOfRow(): string {
    const cases = this.#arrival.parts.map(({ where }, index) => `WHEN ${where} THEN ${index}`)
    return `CASE ${cases.join(' ')} END`
  }

  async judge({ missing, extra, different }: Differences): Promise<Verdict> {
    const unread = await this.#unread([...missing, ...different])
    const rulings = {
      missing: missing.map(unread),
      different: await this.#ruleDifferent(different, unread),
      extra: await this.#ruleExtra(extra),
    }
    const all = Object.values(rulings).flat()
    const drift = (rows: readonly Difference[], ruled: readonly Ruling[]) =>
      rows.filter((_, index) => ruled[index] === 'drift')
    const undecided = all.filter((ruling) => ruling === 'undecided').length
    return {
      drift: {
        missing: drift(missing, rulings.missing),
        extra: drift(extra, rulings.extra),
        different: drift(different, rulings.different),
      },
      onTheirWay: undecided + all.filter((ruling) => ruling === 'on its way').length,
      undecided,
    }
  }

  /** Whether the source holds something for a row that the pipeline has not read. */
  async #unread(rows: readonly Difference[]): Promise<(row: Difference) => Ruling> {
    const rulings = new Map<string, Ruling>()
    for (const [index, { read }] of this.#arrival.parts.entries()) {
      const keys = rows.filter(({ part }) => part === index).map(({ key }) => key)
      if (keys.length === 0 || read === 'all') continue
      const changed = read === 'none' ? null : await this.#trace.changed(keys, read)
      // Without a trace of its own a row may be part of any change there was.
      const ruling: Ruling =
        read === 'none'
          ? 'on its way'
          : changed !== null || !(await this.#trace.hasChanges(read))
            ? 'drift'
            : 'undecided'
      for (const key of keys)
        rulings.set(keyText(key), changed?.has(keyText(key)) === true ? 'on its way' : ruling)
    }
    return ({ key }) => rulings.get(keyText(key)) ?? 'drift'
  }

  /**
   * Where every run compares every row, the mart is asked too: if the row is as the pipeline left it, it was the source
   * that changed, although no trace of that is left.
   */
  async #ruleDifferent(
    rows: readonly Difference[],
    unread: (row: Difference) => Ruling,
  ): Promise<readonly Ruling[]> {
    const { rereads, isSpread, refusedRows, equalUntil, wrote, isUnderWay } = this.#arrival
    const isOpen = (row: Difference) => {
      const ruling = unread(row)
      return ruling === 'undecided' || (ruling === 'drift' && isSpread)
    }
    if (!rereads || refusedRows || !rows.some(isOpen)) return rows.map(unread)
    const writerOf = await this.#hear(rows.filter(isOpen), equalUntil)
    const otherwise = (row: Difference) => (wrote !== null || isUnderWay ? 'undecided' : unread(row))
    return rows.map((row) => (isOpen(row) ? (RULED_BY_MART[writerOf(row)] ?? otherwise(row)) : unread(row)))
  }

  /** A row that the source does not have: drift, unless a run is going to remove it. */
  async #ruleExtra(rows: readonly Difference[]): Promise<readonly Ruling[]> {
    const { leavesSince, removes, presentUntil, isUnderWay, beginning } = this.#arrival
    if (rows.length === 0) return []
    if (removes && beginning && presentUntil === null) return rows.map(() => 'on its way')
    const keys = rows.map(({ key }) => key)
    const changed = leavesSince === null ? null : await this.#trace.changed(keys, leavesSince)
    const writerOf = removes ? await this.#hear(rows, presentUntil) : () => 'somebody else' as const
    return rows.map((row) => {
      if (changed?.has(keyText(row.key)) === true) return 'on its way'
      return RULED_BY_MART[writerOf(row)] ?? (isUnderWay ? 'undecided' : 'drift')
    })
  }

  async #hear(
    rows: readonly Difference[],
    wellUntil: Committed | null,
  ): Promise<(row: Difference) => Testimony> {
    const { wrote, isUnderWay } = this.#arrival
    const versions = new Set(rows.flatMap(({ version }) => (version === null ? [] : [version])))
    const heard = await this.#witness.hear(versions, { wellUntil, wrote, isWriting: isUnderWay })
    return ({ version }) => heard.get(version ?? '') ?? 'unknown'
  }
}

/** What is left open where the mart does not know who wrote a row. */
const RULED_BY_MART: Readonly<Partial<Record<Testimony, Ruling>>> = {
  pipeline: 'on its way',
  well: 'on its way',
  'somebody else': 'drift',
}

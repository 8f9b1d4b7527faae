/** How many rows a side has, and where its control field begins and ends. */
export interface SideSummary {
  readonly count: number
  readonly min: string | null
  readonly max: string | null
}

/** Rows of one kind of difference: how many, and the keys of some, each as the texts of its columns. */
export interface Drift {
  readonly count: number
  readonly keys: readonly (readonly (string | null)[])[]
}

/** What a comparison row by row found. */
export interface DeepDrift {
  readonly keyColumns: readonly string[]
  /** In the source, not in the mart. */
  readonly missing: Drift
  /** In the mart, not in the source. */
  readonly extra: Drift
  /** In both, with other values. */
  readonly different: Drift
  /** Differences that the pipeline has not come to yet; not drift. */
  readonly onTheirWay: number
  /** How many of those might be drift all the same: the source has changed, but not traceably in these rows. */
  readonly undecided: number
}

/** Rows that were mended, looked at again. */
export interface Proof {
  readonly agree: number
  /** The source has changed them since. */
  readonly onTheirWay: number
  readonly differ: number
  /** The keys of some that differ. */
  readonly keys: readonly (readonly (string | null)[])[]
}

export interface Reconciliation {
  readonly matches: boolean
  readonly controlField: string
  readonly source: SideSummary
  readonly target: SideSummary
  readonly deep: DeepDrift | null
}

/** What a comparison found, without the keys: as it is kept for those who look at the whole fleet. */
export interface Comparison {
  readonly at: string
  readonly durationMs: number
  /** The configuration that was compared. */
  readonly configVersion: number
  readonly matches: boolean
  readonly sourceRows: number
  readonly targetRows: number
  /** Zero, as the rest, when only counts were compared. */
  readonly missing: number
  readonly extra: number
  readonly different: number
  readonly onTheirWay: number
  readonly undecided: number
}

/** The last of each kind; null: never compared so. */
export interface LastComparisons {
  readonly counts: Comparison | null
  readonly rows: Comparison | null
}

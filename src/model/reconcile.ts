/** The number of rows on one side, and the range of its control field. */
export interface SideSummary {
  readonly count: number
  readonly min: string | null
  readonly max: string | null
}

/** Rows of one kind of difference: the count, and some of the keys, each as the texts of its columns. */
export interface Drift {
  readonly count: number
  readonly keys: readonly (readonly (string | null)[])[]
}

/** The result of a row-by-row comparison. */
export interface DeepDrift {
  readonly keyColumns: readonly string[]
  /** In the source, not in the mart. */
  readonly missing: Drift
  /** In the mart, not in the source. */
  readonly extra: Drift
  /** In both, with different values. */
  readonly different: Drift
  /** Differences that the pipeline has not reached yet; not drift. */
  readonly onTheirWay: number
  /** How many of those might be drift: the source has changed, but the change cannot be traced to these rows. */
  readonly undecided: number
}

/** Repaired rows, compared again. */
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

/** The result of a comparison without the keys, as stored for the overview of all pipelines. */
export interface Comparison {
  readonly at: string
  readonly durationMs: number
  /** The compared configuration. */
  readonly configVersion: number
  readonly matches: boolean
  readonly sourceRows: number
  readonly targetRows: number
  /** Zero, like the rest, if only counts were compared. */
  readonly missing: number
  readonly extra: number
  readonly different: number
  readonly onTheirWay: number
  readonly undecided: number
}

/** The latest of each kind; null: never compared. */
export interface LastComparisons {
  readonly counts: Comparison | null
  readonly rows: Comparison | null
}

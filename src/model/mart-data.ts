/** A column of a mart as a reader sees it. */
export interface MartColumn {
  readonly name: string
  readonly type: string
  /** Part of the key by which rows are ordered and paged. */
  readonly isKey: boolean
  /** The database guarantees it. */
  readonly notNull: boolean
}

/** What a reader wants to see. Sort and filter are texts, as a user writes them. */
export interface RowsQuestion {
  readonly limit: number
  readonly cursor?: string | undefined
  readonly sort?: string | undefined
  readonly filter?: string | undefined
}

/** A value that is too long to show completely. */
export interface CutValue {
  /** The index of the row in the page. */
  readonly row: number
  readonly column: string
  /** Its whole length: characters, for bytea bytes. */
  readonly length: number
}

export interface SortOrder {
  readonly column: string
  readonly direction: 'asc' | 'desc'
}

/** One page of a mart. */
export interface MartRows {
  readonly columns: readonly MartColumn[]
  /** Columns that the login of the API may not read. */
  readonly hiddenColumns: readonly string[]
  /** Every value as the database writes it. */
  readonly rows: readonly (readonly (string | null)[])[]
  readonly cut: readonly CutValue[]
  /** Null: ordered by the key. */
  readonly sort: SortOrder | null
  /** Null: this is the last page. */
  readonly nextCursor: string | null
  /** The number of rows in the mart as the planner estimates it, without the filter. */
  readonly rowsEstimate: number
}

/** A range of values and how many of the examined rows are in it; the upper bound belongs to the next one. */
export interface HistogramBucket {
  readonly from: string
  readonly to: string
  readonly count: number
}

export interface CommonValue {
  readonly value: string
  readonly count: number
}

export interface ColumnProfile {
  readonly name: string
  readonly type: string
  readonly isKey: boolean
  readonly notNull: boolean
  /** Why it was not examined; null: it was. */
  readonly skipped: string | null
  readonly nulls: number
  readonly nullsExact: boolean
  readonly distinct: number
  readonly distinctExact: boolean
  /** Null: no values, or the type has no order that people would recognize. */
  readonly min: string | null
  readonly max: string | null
  readonly rangeExact: boolean
  /** For numbers and times; empty otherwise. */
  readonly histogram: readonly HistogramBucket[]
  /** The most frequent values, for all other types. */
  readonly common: readonly CommonValue[]
  readonly sample: readonly string[]
}

export interface MartProfile {
  readonly rows: number
  readonly rowsExact: boolean
  /** How many rows were examined; fewer than `rows` if the mart is large. */
  readonly rowsExamined: number
  /** The percentage of the table's blocks that were read; null: all rows. */
  readonly samplePercent: number | null
  readonly columns: readonly ColumnProfile[]
  readonly hiddenColumns: readonly string[]
  readonly suggestedChecks: readonly SuggestedCheck[]
}

/** A check in the shape of a pipeline's field `checks`. */
export interface SuggestedCheck {
  readonly name: string
  readonly type: 'not_null' | 'unique' | 'accepted_values' | 'range' | 'row_count'
  readonly column?: string
  readonly values?: readonly string[]
  readonly min?: number
  readonly max?: number
  readonly on_failure: 'warn'
}

/** A profile with its time. */
export interface KeptProfile {
  readonly pipelineId: string
  readonly computedAt: string
  readonly durationMs: number
  readonly configVersion: number
  readonly target: string
  /** A run has changed rows since, or the pipeline has another target now. */
  readonly outdated: boolean
  readonly profile: MartProfile
}

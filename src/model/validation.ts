import type { Guarantee, Strategy, Way } from './pipeline.js'

/** Something that is wrong with a pipeline, or that its owner should know. */
export interface Finding {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** The field it speaks of, in the API's names. */
  readonly field: string
  /** Where in the text of that field; null when it is about the whole. */
  readonly position: { readonly offset: number; readonly line: number; readonly column: number } | null
}

export interface Validation {
  readonly valid: boolean
  readonly errors: readonly Finding[]
  readonly warnings: readonly Finding[]
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly strategy: Strategy
  /** Null as long as there are errors. */
  readonly way: Way | null
  readonly guarantee: Guarantee | null
  /** How the source is read: along an index, or once for each pass. */
  readonly reads: 'paged' | 'once' | null
  /** The table will be created by the first run. */
  readonly createsTarget: boolean
}

/** The first rows as they would be written, each value as text. */
export interface Preview {
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  readonly rows: readonly (readonly (string | null)[])[]
  /** Values that were too long to show are cut here, never in the mart. */
  readonly truncated: boolean
}

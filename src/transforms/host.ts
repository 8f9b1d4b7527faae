import type { ValueType } from '../sql/value-types.js'

/** A column as a host needs it: the readable type name, and the kind that selects how values are read. */
export interface HostColumn {
  readonly name: string
  readonly type: ValueType & { readonly name: string }
}

export interface LoadedTask {
  readonly name: string
  readonly file: string
  readonly line: number
  readonly signature: string
  readonly doc: string
  readonly adds: Readonly<Record<string, string>>
  readonly drops: readonly string[]
}

/** The outcome of user code. After anything but `raised` the host cannot be used again. */
export interface HostProblem {
  readonly kind: 'raised' | 'exit' | 'memory' | 'process'
  /** The last line of the traceback. */
  readonly line: string
  readonly trace: string
}

/** Requests to a host. It answers them one at a time, in order. */
export type HostRequest =
  | {
      readonly op: 'load'
      readonly folder: string
      readonly files: readonly string[]
      /** With signatures and docstrings. */
      readonly describe: boolean
    }
  | {
      readonly op: 'open'
      readonly columns: readonly HostColumn[]
      readonly steps: readonly { readonly name: string; readonly columns: readonly HostColumn[] }[]
    }
  | { readonly op: 'batch'; readonly rows: number }

export type HostAnswer =
  | { readonly op: 'loading'; readonly file: string }
  | {
      readonly op: 'loaded'
      readonly file: string
      readonly tasks: readonly LoadedTask[]
      readonly problem: HostProblem | null
    }
  | { readonly op: 'ready' }
  | { readonly op: 'rows'; readonly rows: number }
  | Raised
  | RefusedResult

/** A function raised an exception, or exited its host in an orderly way. */
export interface Raised extends HostProblem {
  readonly op: 'failed'
  readonly transform: string
  /** File and line of the user's own code. */
  readonly where: string | null
  readonly row: number | null
  readonly sample: string | null
  /** The missing key, for a lookup error. */
  readonly key: string | null
}

/** The result of a function cannot be written. */
export interface RefusedResult {
  readonly op: 'refused'
  readonly transform: string
  readonly what: string
  readonly row: number | null
  readonly sample: string | null
  readonly hint: string | null
}

export interface HostEvents {
  answer(answer: HostAnswer, payload: Buffer): void
  /** A line printed by user code; null: outside any function, or before the first. */
  output(transform: string | null, text: string): void
  /** Number of further lines that were printed but dropped. */
  dropped(lines: number): void
  /** This function has been called. */
  working(transform: string): void
  /** It ended without a request. Reported once, after everything else. */
  gone(gone: Gone): void
}

/** How a host ended. `missing`: it could not even be started. */
export interface Gone {
  /** Follows "The host of transform x". */
  readonly how: string
  readonly why: 'missing' | 'memory' | 'ended'
}

/** Runs functions of users. */
export interface Host {
  ask(question: HostRequest, payload?: Buffer): void
  /** Lets it exit on its own for a moment, then kills it and everything that it started. */
  close(): Promise<void>
  kill(): Promise<void>
}

/** Where the tasks of one language come from, and the program that runs them. */
export interface Language {
  readonly name: 'python' | 'typescript'
  /** File extensions of task files. */
  readonly extensions: readonly string[]
  readonly folder: string
  start(events: HostEvents): Promise<Host>
}

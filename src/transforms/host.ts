import type { ValueType } from '../sql/value-types.js'

/** A column as a host needs it: the name of its type for people, its kind for choosing how values are read. */
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

/** What happened to code of a user. All but `raised` mean that its host cannot be used any more. */
export interface Problem {
  readonly kind: 'raised' | 'exit' | 'memory' | 'process'
  /** The last line of the traceback. */
  readonly line: string
  readonly trace: string
}

/** What a host is asked. It answers one question after another, in their order. */
export type Question =
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

export type Answer =
  | { readonly op: 'loading'; readonly file: string }
  | {
      readonly op: 'loaded'
      readonly file: string
      readonly tasks: readonly LoadedTask[]
      readonly problem: Problem | null
    }
  | { readonly op: 'ready' }
  | { readonly op: 'rows'; readonly rows: number }
  | Raised
  | Refused

/** A function raised, or ended its host in an orderly way. */
export interface Raised extends Problem {
  readonly op: 'failed'
  readonly transform: string
  /** File and line of the user's own code. */
  readonly where: string | null
  readonly row: number | null
  readonly sample: string | null
  /** The key that was looked for in vain. */
  readonly key: string | null
}

/** What a function returned cannot be written. */
export interface Refused {
  readonly op: 'refused'
  readonly transform: string
  readonly what: string
  readonly row: number | null
  readonly sample: string | null
  readonly hint: string | null
}

export interface HostEvents {
  answer(answer: Answer, payload: Buffer): void
  /** A line that user code printed; null: outside any function, or before the first. */
  said(transform: string | null, text: string): void
  /** So many more lines were printed, which nobody wants to read. */
  unsaid(lines: number): void
  /** This function is called now. */
  working(transform: string): void
  /** It ended without having been asked to. Reported once, after everything else. */
  gone(gone: Gone): void
}

/** How a host ended. `missing`: it could not even be started. */
export interface Gone {
  /** Follows "The host of transform x". */
  readonly how: string
  readonly why: 'missing' | 'memory' | 'ended'
}

/** What runs functions of users. */
export interface Host {
  ask(question: Question, payload?: Buffer): void
  /** Lets it end by itself for a moment, then kills it and all that it started. */
  close(): Promise<void>
  kill(): Promise<void>
}

/** Where the tasks of one language come from and what runs them. */
export interface Language {
  readonly name: 'python' | 'typescript'
  /** Of task files. */
  readonly extensions: readonly string[]
  readonly folder: string
  start(events: HostEvents): Promise<Host>
}

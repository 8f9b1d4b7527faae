/** What `import { task } from 'vitrina'` gives to a task file. It runs in the thread of the task, and knows nothing else. */

/** The JSON value null, which is not the same as no value (null): a jsonb column can hold either. */
export const JsonNull: unique symbol = Symbol.for('vitrina.JsonNull')

/**
 * A value of a row: number for int2, int4 and floats, bigint for int8, string for numeric, dates, times, uuid and text,
 * boolean, Uint8Array for bytea, what JSON.parse makes of json, arrays of all of them; null is NULL.
 */
// biome-ignore lint/suspicious/noExplicitAny: the columns of a query are known only when it runs
export type Value = any
export type Row = Record<string, Value>
export type Rows = Row[]

export interface TaskOptions {
  /** Columns that it adds, or whose type it changes, with their PostgreSQL types. */
  readonly adds?: Readonly<Record<string, string>>
  /** Columns that it takes away. */
  readonly drops?: readonly string[]
}

/** Rows in, rows out: it may drop, add and change rows. */
export type TaskFunction = (rows: Rows) => Iterable<Row> | AsyncIterable<Row> | Promise<Iterable<Row>>

export interface RegisteredTask {
  readonly name: string
  readonly run: TaskFunction
  readonly adds: Readonly<Record<string, string>>
  readonly drops: readonly string[]
  /** Where task() was called, as a stack shows it. */
  readonly stack: string
}

const REGISTERED = Symbol.for('vitrina.tasks')

/** What was registered since the last look, whichever copy of this module was used for it. */
export function registered(): RegisteredTask[] {
  const global = globalThis as { [REGISTERED]?: RegisteredTask[] }
  global[REGISTERED] ??= []
  return global[REGISTERED]
}

/** Registers a function under a name that a task of a pipeline can give. */
export function task(name: string, run: TaskFunction): void
export function task(name: string, options: TaskOptions, run: TaskFunction): void
export function task(name: string, ...rest: [TaskFunction] | [TaskOptions, TaskFunction]): void {
  const run = rest.at(-1) as TaskFunction
  const options = (rest.length > 1 ? rest[0] : {}) as TaskOptions
  if (typeof name !== 'string') throw new TypeError(`task() takes a name first, got ${typeof name}`)
  if (typeof run !== 'function')
    throw new TypeError(`task("${name}") takes a function last, got ${typeof run}`)
  const { adds = {}, drops = [] } = options ?? {}
  if (Object.values(adds).some((type) => typeof type !== 'string'))
    throw new TypeError(`adds of task "${name}" must be an object of column: type, as { segment: 'text' }`)
  if (!Array.isArray(drops) || drops.some((column) => typeof column !== 'string'))
    throw new TypeError(`drops of task "${name}" must be a list of columns, as ['raw']`)
  registered().push({ name, run, adds: { ...adds }, drops: [...drops], stack: new Error().stack ?? '' })
}

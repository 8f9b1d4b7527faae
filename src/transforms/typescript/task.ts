/** The module that `import { task } from 'vitrina'` resolves to. It runs in the thread of the task and imports nothing. */

/** The JSON value null, as opposed to SQL NULL (null): a jsonb column can hold either. */
export const JsonNull: unique symbol = Symbol.for('vitrina.JsonNull')

/**
 * A value of a row: number for int2, int4 and floats, bigint for int8, string for numeric, dates, times, uuid and text,
 * boolean, Uint8Array for bytea, the result of JSON.parse for json, arrays of all of them; null is NULL.
 */
// biome-ignore lint/suspicious/noExplicitAny: the columns of a query are known only when it runs
export type Value = any
export type Row = Record<string, Value>
export type Rows = Row[]

export interface TaskOptions {
  /** Columns that the function adds, or whose type it changes, with their PostgreSQL types. */
  readonly adds?: Readonly<Record<string, string>>
  /** Columns that it drops. */
  readonly drops?: readonly string[]
}

/** Rows in, rows out: it may drop, add and change rows. */
export type TaskFunction = (rows: Rows) => Iterable<Row> | AsyncIterable<Row> | Promise<Iterable<Row>>

export interface RegisteredTask {
  readonly name: string
  readonly run: TaskFunction
  readonly adds: Readonly<Record<string, string>>
  readonly drops: readonly string[]
  /** The stack of the task() call. */
  readonly stack: string
}

const REGISTERED = Symbol.for('vitrina.tasks')

/** Tasks registered since the last call, regardless of which copy of this module was used. */
export function registered(): RegisteredTask[] {
  const global = globalThis as { [REGISTERED]?: RegisteredTask[] }
  global[REGISTERED] ??= []
  return global[REGISTERED]
}

/** Registers a function under a name that a pipeline can use in its task plan. */
export function task(name: string, run: TaskFunction): void
export function task(name: string, options: TaskOptions, run: TaskFunction): void
export function task(name: string, ...rest: [TaskFunction] | [TaskOptions, TaskFunction]): void {
  const run = rest.at(-1) as TaskFunction
  const options = (rest.length > 1 ? rest[0] : {}) as TaskOptions
  if (typeof name !== 'string')
    throw new TypeError(`the first argument of task() must be a name, got ${typeof name}`)
  if (typeof run !== 'function')
    throw new TypeError(`the last argument of task("${name}") must be a function, got ${typeof run}`)
  const { adds = {}, drops = [] } = options ?? {}
  if (Object.values(adds).some((type) => typeof type !== 'string'))
    throw new TypeError(`adds of task "${name}" must be an object of column: type, as { segment: 'text' }`)
  if (!Array.isArray(drops) || drops.some((column) => typeof column !== 'string'))
    throw new TypeError(`drops of task "${name}" must be a list of columns, as ['raw']`)
  registered().push({ name, run, adds: { ...adds }, drops: [...drops], stack: new Error().stack ?? '' })
}

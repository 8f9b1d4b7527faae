import { camelCase, type SnakeCase } from '../model/camel-case.js'

/** A row of the database whose columns are called like the properties of `T`. */
export type SnakeCaseRow<T> = { -readonly [P in keyof T & string as SnakeCase<P>]: T[P] }

const PROPERTIES = new Map<string, string>()

/** Renames the columns of a row: `run_id` becomes `runId`. */
export function fromColumns<T extends object>(row: SnakeCaseRow<T>): T {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [propertyOf(column), value])) as T
}

function propertyOf(column: string): string {
  const known = PROPERTIES.get(column)
  if (known !== undefined) return known
  const property = camelCase(column)
  PROPERTIES.set(column, property)
  return property
}

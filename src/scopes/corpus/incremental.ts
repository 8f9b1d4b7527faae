import type { Session } from '../../postgres/session.js'
import { type Image, keyQueryValues, type ScopeColumn, type Traced } from '../index.js'

/** The rows of each scope, sorted; scopes as JSON. */
export type RowsByScope = ReadonlyMap<string, readonly string[]>

/** Without rows that have a NULL in their key: no mart has them. */
export function rowsByScope(
  rows: readonly Record<string, string | null>[],
  key: readonly string[],
  scope: readonly ScopeColumn[],
): RowsByScope {
  const found = new Map<string, string[]>()
  for (const row of rows) {
    if (key.some((name) => row[name] === null)) continue
    const at = JSON.stringify(scope.map(({ name }) => row[name]))
    const rows = found.get(at) ?? []
    rows.push(JSON.stringify(row))
    found.set(at, rows)
  }
  for (const rows of found.values()) rows.sort()
  return found
}

/** The parameters of the recompute statements. */
export function scopeValues(named: ReadonlySet<string>, scope: readonly ScopeColumn[]): string[][] {
  const scopes = [...named].map((each) => JSON.parse(each) as string[])
  return scope.map((_, place) => scopes.map((each) => each[place]!))
}

interface Tables {
  readonly schema: string
  readonly tables: readonly string[]
}

type Rows = ReadonlyMap<string, ReadonlySet<string>>

/** Which rows changes removed and added: what a capture would have logged, without what came and went in between. */
export class ImageLog {
  readonly #old: ReadonlyMap<string, readonly Image[]>
  readonly #new: ReadonlyMap<string, readonly Image[]>

  private constructor(before: Rows, after: Rows) {
    this.#old = missingFrom(before, after)
    this.#new = missingFrom(after, before)
  }

  static async around(session: Session, tables: Tables, changes: string): Promise<ImageLog> {
    const before = await rowsOf(session, tables)
    await session.run(changes)
    return new ImageLog(before, await rowsOf(session, tables))
  }

  has(table: string): boolean {
    return this.#old.has(table) || this.#new.has(table)
  }

  needsFull({ tables }: Traced): boolean {
    return tables.some(
      ({ table, occurrences }) => this.has(table.table) && occurrences.some((each) => !each.traced),
    )
  }

  old(table: string): readonly Image[] {
    return this.#old.get(table) ?? []
  }

  changed(table: string): readonly Image[] {
    return [...this.old(table), ...(this.#new.get(table) ?? [])]
  }
}

/** The union of what the key queries of all changed tables name. */
export async function namedScopes(
  session: Session,
  trace: Traced,
  log: Pick<ImageLog, 'has' | 'old' | 'changed'>,
): Promise<Set<string>> {
  const named = new Set<string>()
  for (const { table, occurrences } of trace.tables)
    for (const occurrence of occurrences) {
      if (!occurrence.traced || !log.has(table.table)) continue
      const values = keyQueryValues(occurrence.keyQuery, ({ table: from, images }) =>
        images === 'old' ? log.old(from.table) : log.changed(from.table),
      )
      for (const row of await session.rows(occurrence.keyQuery.text, values))
        named.add(JSON.stringify(trace.scope.map((_, place) => row[`k${place}`])))
    }
  return named
}

async function rowsOf(session: Session, { schema, tables }: Tables): Promise<Rows> {
  const parts = tables.map(
    (table) => `SELECT '${table}' AS name, to_jsonb(t)::text AS image FROM ${schema}.${table} t`,
  )
  const rows = new Map<string, Set<string>>(tables.map((table) => [table, new Set()]))
  for (const { name, image } of await session.rows(parts.join(' UNION ALL '))) rows.get(name!)!.add(image!)
  return rows
}

function missingFrom(rows: Rows, others: Rows): ReadonlyMap<string, readonly Image[]> {
  const found = new Map<string, Image[]>()
  for (const [table, images] of rows) {
    const gone = [...images].filter((image) => !others.get(table)!.has(image))
    if (gone.length > 0) found.set(table, gone.map(asImage))
  }
  return found
}

function asImage(json: string): Image {
  const values = Object.entries(JSON.parse(json) as Record<string, string | number | null>)
  return Object.fromEntries(values.map(([name, value]) => [name, value === null ? null : String(value)]))
}

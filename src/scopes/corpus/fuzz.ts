import { VitrinaError } from '../../model/errors.js'
import type { Session } from '../../postgres/session.js'
import type { Alternative } from '../alternative.js'
import { type Image, keyQueryValues, type QueryFacts, readQueryFacts, type Traced } from '../index.js'
import { flatten, traceAlternatives } from '../trace-scopes.js'
import { Untraceable } from '../untraceable.js'
import { LAB_TABLES } from './lab.js'
import { Random } from './random.js'
import { ChangeMaker } from './random-changes.js'
import { QueryMaker, type RandomQuery } from './random-query.js'

/** A rule that is left out on purpose. */
export type Fault = 'no guards' | 'nothing opaque' | 'no old images'

export interface FuzzOptions {
  readonly seed: number
  /** How many sets of changes are followed. */
  readonly changeSets: number
  readonly fault?: Fault
}

export interface FuzzResult {
  queries: number
  refusedByServer: number
  traced: number
  notTraced: number
  changeSets: number
  /** Sets with a change of a table that is not traced. */
  full: number
  changedScopes: number
  namedScopes: number
  missed: string[]
  wrongRecomputes: string[]
}

const ROUNDS = 4

/** Random queries, random changes: every scope whose rows changed must be among those that the key queries name. */
export class Fuzz {
  readonly #session: Session
  readonly #random: Random
  readonly #queries: QueryMaker
  readonly #changes: ChangeMaker
  readonly #options: FuzzOptions
  readonly result: FuzzResult = {
    queries: 0,
    refusedByServer: 0,
    traced: 0,
    notTraced: 0,
    changeSets: 0,
    full: 0,
    changedScopes: 0,
    namedScopes: 0,
    missed: [],
    wrongRecomputes: [],
  }

  constructor(session: Session, options: FuzzOptions) {
    this.#session = session
    this.#options = options
    this.#random = new Random(options.seed)
    this.#queries = new QueryMaker(this.#random)
    this.#changes = new ChangeMaker(this.#random)
  }

  async run(): Promise<FuzzResult> {
    await this.#session.run(this.#changes.fill())
    while (!this.#isDone()) await this.#tryQuery(this.#queries.query())
    return this.result
  }

  /** A planted fault is found with the first miss. */
  #isDone(): boolean {
    const isFound = this.#options.fault !== undefined && this.result.missed.length > 0
    return isFound || this.result.changeSets >= this.#options.changeSets
  }

  async #tryQuery(query: RandomQuery): Promise<void> {
    const facts = await readQueryFacts(this.#session, query.sql).catch((error) => {
      if (error instanceof VitrinaError) return null
      throw error
    })
    if (facts === null) {
      this.result.refusedByServer++
      return
    }
    this.result.queries++
    const trace = this.#trace(facts, query.key)
    if (trace === null) {
      this.result.notTraced++
      return
    }
    this.result.traced++
    await this.#session.run(this.#changes.refill())
    // A query without rows shows little.
    if ((await this.#marts(query, trace)).size === 0) return
    for (let round = 0; round < ROUNDS; round++) await this.#round(query, trace)
  }

  #trace(facts: QueryFacts, key: readonly string[]): Traced | null {
    try {
      const trace = traceAlternatives(
        flatten(facts).map((each) => spoilt(each, this.#options.fault)),
        facts,
        key,
      )
      return trace.traced ? trace : null
    } catch (error) {
      if (error instanceof Untraceable) return null
      throw error
    }
  }

  async #round(query: RandomQuery, trace: Traced): Promise<void> {
    const [before, rowsBefore] = [await this.#marts(query, trace), await this.#rows()]
    const changes = this.#changes.changes()
    await this.#session.run(changes)
    const [after, rowsAfter] = [await this.#marts(query, trace), await this.#rows()]
    const images = { old: missingFrom(rowsBefore, rowsAfter), new: missingFrom(rowsAfter, rowsBefore) }
    const changed = (table: string) => images.old.has(table) || images.new.has(table)
    const isFull = trace.tables.some(
      ({ table, occurrences }) => changed(table.table) && occurrences.some((each) => !each.traced),
    )
    if (isFull) {
      this.result.full++
      return
    }
    this.result.changeSets++
    const named = await this.#namedScopes(trace, images)
    this.result.namedScopes += named.size
    for (const scope of new Set([...before.keys(), ...after.keys()])) {
      if (same(before.get(scope), after.get(scope))) continue
      this.result.changedScopes++
      if (!named.has(scope))
        this.result.missed.push([query.sql, scope, before.get(scope), after.get(scope), changes].join('\n  '))
    }
    if (named.size > 0) await this.#checkRecompute(query, trace, { named, after })
  }

  async #namedScopes(trace: Traced, images: Images): Promise<Set<string>> {
    const named = new Set<string>()
    for (const { table, occurrences } of trace.tables)
      for (const occurrence of occurrences) {
        if (!occurrence.traced || (!images.old.has(table.table) && !images.new.has(table.table))) continue
        const { keyQuery } = occurrence
        const values = keyQueryValues(keyQuery, (parameter) => {
          const old = images.old.get(parameter.table.table) ?? []
          if (parameter.images === 'old') return this.#options.fault === 'no old images' ? [] : old
          return [...old, ...(images.new.get(parameter.table.table) ?? [])]
        })
        const rows = await this.#session.rows(keyQuery.text, values)
        for (const row of rows) named.add(JSON.stringify(trace.scope.map((_, place) => row[`k${place}`])))
      }
    return named
  }

  /** Both statements must give the rows that the full query has for these scopes. */
  async #checkRecompute(query: RandomQuery, { scope, recompute }: Traced, found: Found): Promise<void> {
    const scopes = [...found.named].map((each) => JSON.parse(each) as string[])
    const values = scope.map((_, place) => scopes.map((each) => each[place]))
    for (const text of [recompute.lateral, recompute.any]) {
      const rows = await this.#session.rows(text, values)
      const marts = martOf(rows, query.key, scope)
      for (const each of found.named)
        if (!same(marts.get(each), found.after.get(each)))
          this.result.wrongRecomputes.push([text, each, marts.get(each), found.after.get(each)].join('\n  '))
    }
  }

  async #marts(query: RandomQuery, { scope }: Traced): Promise<Mart> {
    return martOf(await this.#session.rows(query.sql), query.key, scope)
  }

  /** All rows of all tables, as text. */
  async #rows(): Promise<Rows> {
    const parts = LAB_TABLES.map(
      (table) => `SELECT '${table}' AS name, to_jsonb(t)::text AS image FROM lab.${table} t`,
    )
    const found = await this.#session.rows(parts.join(' UNION ALL '))
    const rows = new Map<string, Set<string>>(LAB_TABLES.map((table) => [table, new Set()]))
    for (const { name, image } of found) rows.get(name!)!.add(image!)
    return rows
  }
}

type Rows = ReadonlyMap<string, ReadonlySet<string>>
/** The rows of each scope, sorted. */
type Mart = ReadonlyMap<string, readonly string[]>

interface Images {
  readonly old: ReadonlyMap<string, readonly Image[]>
  readonly new: ReadonlyMap<string, readonly Image[]>
}

interface Found {
  readonly named: ReadonlySet<string>
  readonly after: Mart
}

function martOf(
  rows: readonly Record<string, string | null>[],
  key: readonly string[],
  scope: Traced['scope'],
): Mart {
  const mart = new Map<string, string[]>()
  for (const row of rows) {
    if (key.some((name) => row[name] === null)) continue
    const at = JSON.stringify(scope.map(({ name }) => row[name]))
    mart.set(at, [...(mart.get(at) ?? []), JSON.stringify(row)].sort())
  }
  return mart
}

function same(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return JSON.stringify(one ?? []) === JSON.stringify(other ?? [])
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

function spoilt(alternative: Alternative, fault: Fault | undefined): Alternative {
  if (fault === 'no guards')
    return { ...alternative, links: alternative.links.map((link) => ({ ...link, guards: [] })) }
  if (fault === 'nothing opaque')
    return { ...alternative, columns: alternative.columns.map((column) => ({ ...column, opaque: null })) }
  return alternative
}

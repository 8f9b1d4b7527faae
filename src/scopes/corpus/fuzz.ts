import { VitrinaError } from '../../model/errors.js'
import type { Session } from '../../postgres/session.js'
import type { Alternative } from '../alternative.js'
import { type QueryFacts, readQueryFacts, type Traced } from '../index.js'
import { flatten, traceAlternatives } from '../trace-scopes.js'
import { Untraceable } from '../untraceable.js'
import { ImageLog, namedScopes, type RowsByScope, rowsByScope, scopeValues } from './incremental.js'
import { LAB_TABLES } from './lab.js'
import { ChangeMaker } from './random-changes.js'
import { QueryMaker, type RandomQuery } from './random-query.js'
import { SeededRandom } from './seeded-random.js'

/** A rule that is left out on purpose. */
export type PlantedFault = 'no guards' | 'nothing opaque' | 'no old images'

export interface FuzzOptions {
  readonly seed: number
  /** How many sets of changes are followed. */
  readonly changeSets: number
  readonly fault?: PlantedFault
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
const MOST_ROWS = 1_000
/** The planner's. Without statistics it expects a thousand rows of each table, which has ten. */
const MOST_COST = 1e7

/** Random queries, random changes: every scope whose rows changed must be among those that the key queries name. */
export class Fuzz {
  readonly #session: Session
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
  }

  /** Each query has random numbers and rows of its own, so that what the one before did changes nothing. */
  async run(): Promise<FuzzResult> {
    for (let number = 0; !this.#isDone(); number++) {
      const random = new SeededRandom(Math.imul(this.#options.seed + number, 0x9e3779b1))
      await this.#tryQuery(new QueryMaker(random).query(), new ChangeMaker(random))
    }
    return this.result
  }

  /** A planted fault is found with the first miss. */
  #isDone(): boolean {
    const isFound = this.#options.fault !== undefined && this.result.missed.length > 0
    return isFound || this.result.changeSets >= this.#options.changeSets
  }

  async #tryQuery(query: RandomQuery, changes: ChangeMaker): Promise<void> {
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
    await this.#session.run(
      `TRUNCATE ${LAB_TABLES.map((table) => `lab.${table}`).join(', ')}; ${changes.fill()}`,
    )
    if (!(await this.#isUseful(query))) return
    for (let round = 0; round < ROUNDS; round++) await this.#round(query, trace, changes)
  }

  /** A query without rows shows little, and one over a product of many tables takes long. */
  async #isUseful({ sql }: RandomQuery): Promise<boolean> {
    const [plan] = await this.#session.rows(`EXPLAIN (FORMAT JSON) ${sql}`)
    const [{ Plan: top }] = JSON.parse(plan!['QUERY PLAN']!) as [{ Plan: Record<string, number> }]
    if (top['Total Cost']! > MOST_COST) return false
    const rows = await this.#session.rows(`SELECT FROM (${sql}) q LIMIT ${MOST_ROWS + 1}`)
    return rows.length > 0 && rows.length <= MOST_ROWS
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

  async #round(query: RandomQuery, trace: Traced, maker: ChangeMaker): Promise<void> {
    const before = await this.#mart(query, trace)
    const changes = maker.changes()
    const log = await ImageLog.around(this.#session, { schema: 'lab', tables: LAB_TABLES }, changes)
    const after = await this.#mart(query, trace)
    if (log.needsFull(trace)) {
      this.result.full++
      return
    }
    this.result.changeSets++
    const named = await namedScopes(
      this.#session,
      trace,
      this.#options.fault === 'no old images' ? withoutOld(log) : log,
    )
    this.result.namedScopes += named.size
    for (const scope of new Set([...before.keys(), ...after.keys()])) {
      if (same(before.get(scope), after.get(scope))) continue
      this.result.changedScopes++
      if (!named.has(scope))
        this.result.missed.push([query.sql, scope, before.get(scope), after.get(scope), changes].join('\n  '))
    }
    if (named.size > 0) await this.#checkRecompute(query, trace, { named, after })
  }

  /** Both statements must give the rows that the full query has for these scopes. */
  async #checkRecompute(query: RandomQuery, { scope, recompute }: Traced, found: Found): Promise<void> {
    for (const text of [recompute.lateral, recompute.any]) {
      const rows = await this.#session.rows(text, scopeValues(found.named, scope))
      const mart = rowsByScope(rows, query.key, scope)
      for (const each of found.named)
        if (!same(mart.get(each), found.after.get(each)))
          this.result.wrongRecomputes.push([text, each, mart.get(each), found.after.get(each)].join('\n  '))
    }
  }

  async #mart(query: RandomQuery, { scope }: Traced): Promise<RowsByScope> {
    return rowsByScope(await this.#session.rows(query.sql), query.key, scope)
  }
}

interface Found {
  readonly named: ReadonlySet<string>
  readonly after: RowsByScope
}

function same(one: readonly string[] | undefined, other: readonly string[] | undefined): boolean {
  return JSON.stringify(one ?? []) === JSON.stringify(other ?? [])
}

function withoutOld(log: ImageLog): Pick<ImageLog, 'has' | 'old' | 'changed'> {
  return { has: (table) => log.has(table), old: () => [], changed: (table) => log.changed(table) }
}

function spoilt(alternative: Alternative, fault: PlantedFault | undefined): Alternative {
  if (fault === 'no guards')
    return { ...alternative, links: alternative.links.map((link) => ({ ...link, guards: [] })) }
  if (fault === 'nothing opaque')
    return { ...alternative, columns: alternative.columns.map((column) => ({ ...column, opaque: null })) }
  return alternative
}

type Queries<T> = ReadonlyMap<string, { readonly place: number; readonly known: T }>

/** Names of WITH queries visible at one place of the text, each with what is known of it. */
export class Scope<T> {
  readonly #outer: Scope<T> | null
  /** All names of one WITH, shared by the scopes of its queries: ten thousand copies of ten thousand names took 11 s. */
  readonly #queries: Queries<T>
  readonly #seen: number

  private constructor(outer: Scope<T> | null, queries: Queries<T>, seen: number) {
    this.#outer = outer
    this.#queries = queries
    this.#seen = seen
  }

  static empty<T>(): Scope<T> {
    return new Scope<T>(null, new Map(), 0)
  }

  /** With all queries of one WITH. */
  plus(queries: readonly (readonly [name: string, known: T])[]): Scope<T> {
    const placed = queries.map(([name, known], place) => [name, { place, known }] as const)
    return new Scope(this, new Map(placed), queries.length)
  }

  /** As seen by the query at this place of the WITH: only those before it. */
  before(place: number): Scope<T> {
    return new Scope(this.#outer, this.#queries, place)
  }

  find(name: string): T | null {
    const query = this.#queries.get(name)
    if (query !== undefined && query.place < this.#seen) return query.known
    return this.#outer?.find(name) ?? null
  }
}

/** For callers that need only the names. */
export type Names = Scope<true>

type Queries<T> = ReadonlyMap<string, { readonly place: number; readonly known: T }>

/** Names of WITH queries visible at one place of the text, each with what is known of it. */
export class NameScope<T> {
  readonly #outer: NameScope<T> | null
  /** All names of one WITH, shared by the scopes of its queries: ten thousand copies of ten thousand names took 11 s. */
  readonly #queries: Queries<T>
  readonly #seen: number

  private constructor(outer: NameScope<T> | null, queries: Queries<T>, seen: number) {
    this.#outer = outer
    this.#queries = queries
    this.#seen = seen
  }

  static empty<T>(): NameScope<T> {
    return new NameScope<T>(null, new Map(), 0)
  }

  /** With all queries of one WITH. */
  plus(queries: readonly (readonly [name: string, known: T])[]): NameScope<T> {
    const placed = queries.map(([name, known], place) => [name, { place, known }] as const)
    return new NameScope(this, new Map(placed), queries.length)
  }

  /** As seen by the query at this place of the WITH: only those before it. */
  before(place: number): NameScope<T> {
    return new NameScope(this.#outer, this.#queries, place)
  }

  find(name: string): T | null {
    const query = this.#queries.get(name)
    if (query !== undefined && query.place < this.#seen) return query.known
    return this.#outer?.find(name) ?? null
  }
}

/** For callers that need only the names. */
export type Names = NameScope<true>

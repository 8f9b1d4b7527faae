import type pg from 'pg'
import { onSide } from '../postgres/errors.js'
import type { Database, Queryable } from './database.js'

/** The meta store as the runner uses it: an error of PostgreSQL gets a code that names the meta store. */
export class MetaStore implements Queryable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]> {
    return onSide('meta store', 'The meta store', () => this.#database.query<R>(text, values))
  }

  transaction<T>(work: (session: Queryable) => Promise<T>): Promise<T> {
    return onSide('meta store', 'The meta store', () => this.#database.transaction(work))
  }
}

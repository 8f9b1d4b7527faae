import { databasePlace } from '../postgres/database-place.js'
import type { TableName } from '../sql/identifiers.js'

/** A server and a database on it, as needed for names. */
export interface Home {
  /** Null: the main database. */
  readonly connection: string | null
  readonly url: string | null
}

/** The database that a connection leads to. Two names for one database must not become two marts. */
export class Homes {
  readonly #main: string
  readonly #connections: ReadonlyMap<string, string>
  readonly #byPlace = new Map<string, Home>()

  constructor(main: string, connections: ReadonlyMap<string, string>) {
    this.#main = main
    this.#connections = connections
    this.#byPlace.set(databasePlace(main), { connection: null, url: main })
  }

  of(connection: string | null): Home {
    if (connection === null) return { connection: null, url: this.#main }
    const name = connection.toLowerCase()
    const url = this.#connections.get(name)
    if (url === undefined) return { connection: name, url: null }
    const place = databasePlace(url)
    const known = this.#byPlace.get(place)
    if (known === undefined) this.#byPlace.set(place, { connection: name, url })
    return known ?? { connection: name, url }
  }
}

/** `content.film_work`, quoted only where necessary, and with its connection if it has one. */
export function tableId({ schema, table }: TableName, { connection }: Pick<Home, 'connection'>): string {
  const name = tableText({ schema, table })
  return connection === null ? name : `${name}@${connection}`
}

export function tableText({ schema, table }: TableName): string {
  return [schema, table].map(plain).join('.')
}

function plain(name: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}

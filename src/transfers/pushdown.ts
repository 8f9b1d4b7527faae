import type { Session } from '../postgres/session.js'
import type { Mover } from './mover.js'

/** Source and target in one database: the rows never leave the server. */
export class Pushdown implements Mover {
  readonly way = 'pushdown'
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async prepare(): Promise<void> {}

  async bring(selection: string): Promise<string> {
    return `(${selection}) AS batch`
  }

  async fill(): Promise<null> {
    return null
  }

  collect(selection: string, into: string): Promise<number> {
    return this.#session.count(`CREATE TEMP TABLE ${into} AS ${selection}`)
  }
}

import type { Moment } from '../checkpoints/checkpoint.js'
import { VitrinaError } from '../model/errors.js'
import type { Session } from '../postgres/session.js'
import { changedKeysSql, isNewSince } from '../sources/postgres/changes.js'
import { type Column, columnList } from '../sql/selection.js'
import { sqlstateOf } from '../sql/sqlstate.js'
import {
  type ComparedColumn,
  inKeys,
  type KeyTexts,
  keyColumns,
  keyOf,
  portionsOf,
  serializeKey,
} from './side.js'

/** No right to read a table behind a view; a relation whose rows have no versions. */
const UNREADABLE = new Set(['42501', '42703', '0A000'])

/** Finds which of the given rows of the mart depend on new row versions in the source. */
export class SourceChanges {
  readonly #session: Session
  readonly #key: readonly Column[]
  readonly #compared: readonly ComparedColumn[]
  readonly #relations: readonly string[]

  constructor(options: {
    session: Session
    /** The key of the mart as columns of the query, and as the mart has it. */
    key: readonly Column[]
    compared: readonly ComparedColumn[]
    /** The tables behind the query. */
    relations: readonly string[]
  }) {
    this.#session = options.session
    this.#key = options.key
    this.#compared = options.compared
    this.#relations = options.relations
  }

  /** The keys whose source rows have changed since. Null: changes cannot be traced to keys. */
  async changed(keys: readonly KeyTexts[], since: Moment): Promise<Set<string> | null> {
    return this.#ifTraceable(async () => {
      const changed = await changedKeysSql(this.#session, {
        key: this.#key,
        relations: this.#relations,
        from: since,
      })
      const found = new Set<string>()
      for (const portion of portionsOf(keys)) {
        const rows = await this.#session.rows(
          `SELECT ${keyColumns(this.#compared)} FROM (${changed}) AS changed (${columnList(this.#key)}) WHERE ${inKeys(this.#compared, portion)}`,
        )
        for (const row of rows) found.add(serializeKey(keyOf(row, this.#compared)))
      }
      return found
    })
  }

  /** Whether anything has changed since in the tables behind the query. Also true if that cannot be determined. */
  async hasChanges(since: Moment): Promise<boolean> {
    const changes = await this.#ifTraceable(async () => {
      for (const relation of this.#relations) {
        const found = await this.#session.rows(
          `SELECT 1 AS found FROM ${relation} t WHERE ${isNewSince(since)} LIMIT 1`,
        )
        if (found.length > 0) return true
      }
      return false
    })
    return changes ?? true
  }

  /** Runs inside the snapshot of the comparison, which must survive a failing statement. */
  async #ifTraceable<T>(work: () => Promise<T>): Promise<T | null> {
    await this.#session.run('SAVEPOINT trace')
    try {
      return await work()
    } catch (error) {
      if (!isUntraceable(error)) throw error
      await this.#session.run('ROLLBACK TO trace')
      return null
    }
  }
}

function isUntraceable(error: unknown): boolean {
  return (
    (error instanceof VitrinaError && error.code === 'CAPTURE_UNSUPPORTED') ||
    UNREADABLE.has(sqlstateOf(error) ?? '')
  )
}

import type { RunLogLine } from '../model/history.js'
import type { Database } from './database.js'

const FLUSH_MS = 300
/** A database that is away must not fill the memory of the runner; the log on stderr has everything. */
const MOST_LINES = 10_000

/** Writes the lines of runs into the meta store, a few at a time and never in the way of a batch. */
export class RunLogWriter {
  readonly #database: Database
  #lines: Omit<RunLogLine, 'id'>[] = []
  #timer: NodeJS.Timeout | null = null
  #flushing: Promise<void> = Promise.resolve()

  constructor(database: Database) {
    this.#database = database
  }

  keep(line: Omit<RunLogLine, 'id'>): void {
    if (this.#lines.length >= MOST_LINES) this.#lines.shift()
    this.#lines.push(line)
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS)
  }

  async close(): Promise<void> {
    this.#flush()
    await this.#flushing
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#flushing = this.#flushing.then(() => this.#write())
  }

  async #write(): Promise<void> {
    const lines = this.#lines
    this.#lines = []
    if (lines.length === 0) return
    // A run that was forgotten meanwhile takes its lines with it.
    const text = `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
      SELECT l."runId", l.at, l.level, l.message, l.fields
        FROM jsonb_to_recordset($1::jsonb) AS l("runId" uuid, at timestamptz, level text, message text, fields jsonb)
       WHERE EXISTS (SELECT FROM etl.etl_runs r WHERE r.id = l."runId")`
    await this.#database.query(text, [JSON.stringify(lines)]).catch(() => {
      this.#lines = [...lines, ...this.#lines].slice(-MOST_LINES)
    })
  }
}

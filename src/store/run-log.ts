import type { RunLogLine } from '../model/history.js'
import type { Database } from './database.js'

const FLUSH_MS = 300
/** An unavailable database must not fill the memory of the runner; the log on stderr has everything. */
const MOST_LINES = 10_000

/** Warnings and errors that are kept once the log of a run is full. */
const MOST_WARNINGS = 1_000
/** A runner holds 64 pipelines at most; earlier runs have ended. */
const MOST_RUNS = 1_000

/** Of one run, so far. */
interface Count {
  lines: number
  /** Warnings and errors after the log was full. */
  warnings: number
}

/** Writes the log lines of runs into the meta store, a few at a time and without delaying a batch. */
export class RunLogWriter {
  readonly #database: Database
  readonly #most: number
  readonly #counts = new Map<string, Count>()
  #lines: Omit<RunLogLine, 'id'>[] = []
  #timer: NodeJS.Timeout | null = null
  #flushing: Promise<void> = Promise.resolve()

  /** `most` lines are kept for each run: a task may print millions. */
  constructor(database: Database, most: number) {
    this.#database = database
    this.#most = most
  }

  keep(line: Omit<RunLogLine, 'id'>): void {
    const count = this.#countOf(line.runId)
    count.lines += 1
    if (count.lines === this.#most + 1) this.#push(fullNotice(line, this.#most))
    if (this.#hasRoom(line, count)) this.#push(line)
  }

  #hasRoom({ level }: Omit<RunLogLine, 'id'>, count: Count): boolean {
    if (count.lines <= this.#most) return true
    if (level === 'info' || count.warnings >= MOST_WARNINGS) return false
    count.warnings += 1
    return true
  }

  #countOf(runId: string): Count {
    const count = this.#counts.get(runId) ?? { lines: 0, warnings: 0 }
    this.#counts.set(runId, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > MOST_RUNS && oldest !== undefined) this.#counts.delete(oldest)
    return count
  }

  #push(line: Omit<RunLogLine, 'id'>): void {
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
    // The lines of a run that was deleted meanwhile are dropped.
    const text = `INSERT INTO etl.etl_run_log (run_id, at, level, message, fields)
      SELECT l."runId", l.at, l.level, l.message, l.fields
        FROM jsonb_to_recordset($1::jsonb) AS l("runId" uuid, at timestamptz, level text, message text, fields jsonb)
       WHERE EXISTS (SELECT FROM etl.etl_runs r WHERE r.id = l."runId")`
    await this.#database.query(text, [JSON.stringify(lines)]).catch(() => {
      this.#lines = [...lines, ...this.#lines].slice(-MOST_LINES)
    })
  }
}

function fullNotice({ runId, at }: Omit<RunLogLine, 'id'>, most: number): Omit<RunLogLine, 'id'> {
  const message =
    "The log of this run is full; from here on it has only warnings and errors. The runner's own log has every line."
  return { runId, at, level: 'warn', message, fields: { setting: 'RUN_LOG_MAX_LINES', lines: most } }
}

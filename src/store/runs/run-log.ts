import type { RunLogLine } from '../../model/history.js'
import type { Database } from '../database.js'

const FLUSH_MS = 300
/** An unavailable database must not fill the memory of the runner; the log on stderr has everything. */
const MOST_LINES = 10_000

/** Warnings and errors that are kept once the log of a run is full. */
const MOST_WARNINGS = 1_000
/** A runner holds 64 pipelines at most; earlier runs have ended. */
const MOST_RUNS = 1_000

/** Of one run, so far. */
interface Count {
  /** Null: to be read from the database. Another runner may have logged a part of the run. */
  lines: number | null
  /** The same when it was read last. */
  read: number
  /** Lines that arrived before `lines` was known. */
  early: number
  /** Warnings and errors after the log was full. */
  warnings: number
}

type Line = Omit<RunLogLine, 'id'>

/** Writes the log lines of runs into the meta store, a few at a time and without delaying a batch. */
export class RunLogWriter {
  readonly #database: Database
  readonly #most: number
  /** After this many lines, those that other runners have added meanwhile are counted too. */
  readonly #share: number
  readonly #counts = new Map<string, Count>()
  #lines: Line[] = []
  #timer: NodeJS.Timeout | null = null
  #flushing: Promise<void> = Promise.resolve()

  /** `most` lines are kept for each run: a task may print millions. */
  constructor(database: Database, most: number) {
    this.#database = database
    this.#most = most
    this.#share = Math.ceil(most / 100)
  }

  keep(line: Line): void {
    const count = this.#countOf(line.runId)
    if (this.#isOutdated(count)) Object.assign(count, { lines: null, early: 0 })
    if (count.lines !== null) {
      this.#push(...this.#fitting(line))
      return
    }
    count.early += 1
    if (count.early <= this.#most + 1 || line.level !== 'info') this.#push(line)
  }

  /** Runners that work on parts of a run at the same time fill one log. A full one does not change any more. */
  #isOutdated({ lines, read }: Count): boolean {
    return lines !== null && lines <= this.#most && lines - read >= this.#share
  }

  /** The line if the log of its run has room for it, after the notice if it is the first without room. */
  #fitting(line: Line): Line[] {
    const count = this.#countOf(line.runId)
    count.lines = (count.lines ?? 0) + 1
    const notices = count.lines === this.#most + 1 ? [fullNotice(line, this.#most)] : []
    if (count.lines <= this.#most) return [line]
    if (line.level === 'info' || count.warnings >= MOST_WARNINGS) return notices
    count.warnings += 1
    return [...notices, line]
  }

  #countOf(runId: string): Count {
    const count = this.#counts.get(runId) ?? { lines: null, read: 0, early: 0, warnings: 0 }
    this.#counts.set(runId, count)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size > MOST_RUNS && oldest !== undefined) this.#counts.delete(oldest)
    return count
  }

  #push(...lines: Line[]): void {
    for (const line of lines) {
      if (this.#lines.length >= MOST_LINES) this.#lines.shift()
      this.#lines.push(line)
      this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS)
    }
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
    // Lines are lost only with the process: an unavailable database gets them with the next flush.
    await this.#readCounts().catch(() => {})
    const isCounted = ({ runId }: Line) => this.#countOf(runId).lines !== null
    const lines = this.#lines.filter(isCounted)
    this.#lines = this.#lines.filter((line) => !isCounted(line))
    if (lines.length > 0) await this.#insert(lines)
  }

  /**
   * At most a hundred times per run and process, from an index and at most the number of lines that a log may have: a run
   * that one runner after the other takes over, or that several work on at the same time, has one log.
   */
  async #readCounts(): Promise<void> {
    const unknown = [...new Set(this.#lines.map(({ runId }) => runId))].filter(
      (runId) => this.#countOf(runId).lines === null,
    )
    if (unknown.length === 0) return
    const rows = await this.#database.query<{ run_id: string; count: number }>(
      'SELECT run_id, count(*) FROM etl.etl_run_log WHERE run_id = ANY ($1) GROUP BY run_id',
      [unknown],
    )
    for (const runId of unknown) {
      const lines = rows.find(({ run_id }) => run_id === runId)?.count ?? 0
      const warnings = Math.max(0, lines - this.#most - 1)
      Object.assign(this.#countOf(runId), { lines, read: lines, warnings })
    }
    this.#lines = this.#lines.flatMap((line) => (unknown.includes(line.runId) ? this.#fitting(line) : [line]))
  }

  async #insert(lines: readonly Line[]): Promise<void> {
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

function fullNotice({ runId, at }: Line, most: number): Line {
  const message =
    "The log of this run is full; from here on it has only warnings and errors. The runner's own log has every line."
  return { runId, at, level: 'warn', message, fields: { setting: 'RUN_LOG_MAX_LINES', lines: most } }
}

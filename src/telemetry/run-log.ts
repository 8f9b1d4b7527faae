import type { RunLogLine } from '../model/history.js'
import type { LogFields, Logger } from './log.js'
import { redactFields, redactText } from './redact.js'

/** A logger that also passes on every line about a run, with secrets hidden. */
export function keepingRunLines(log: Logger, keep: (line: Omit<RunLogLine, 'id'>) => void): Logger {
  return new KeepingLog(log, keep, {})
}

class KeepingLog implements Logger {
  readonly #log: Logger
  readonly #keep: (line: Omit<RunLogLine, 'id'>) => void
  readonly #fields: LogFields

  constructor(log: Logger, keep: (line: Omit<RunLogLine, 'id'>) => void, fields: LogFields) {
    this.#log = log
    this.#keep = keep
    this.#fields = fields
  }

  debug(msg: string, fields: LogFields = {}): void {
    this.#log.debug(msg, fields)
  }

  info(msg: string, fields: LogFields = {}): void {
    this.#log.info(msg, fields)
    this.#hand('info', msg, fields)
  }

  warn(msg: string, fields: LogFields = {}): void {
    this.#log.warn(msg, fields)
    this.#hand('warn', msg, fields)
  }

  error(msg: string, fields: LogFields = {}): void {
    this.#log.error(msg, fields)
    this.#hand('error', msg, fields)
  }

  child(fields: LogFields): Logger {
    return new KeepingLog(this.#log.child(fields), this.#keep, { ...this.#fields, ...fields })
  }

  #hand(level: RunLogLine['level'], message: string, fields: LogFields): void {
    const {
      run_id: runId,
      pipeline: _name,
      pipeline_id: _id,
      trace_id: _trace,
      err,
      ...rest
    } = { ...this.#fields, ...fields } as LogFields & {
      err?: unknown
      run_id?: unknown
      pipeline?: unknown
      pipeline_id?: unknown
      trace_id?: unknown
    }
    if (typeof runId !== 'string') return
    // The end of a run is logged with the message alone, everything else with the error itself.
    const cause = err instanceof Error ? err.message : err
    const error = typeof cause === 'string' ? { error: redactText(cause) } : {}
    this.#keep({
      runId,
      at: new Date().toISOString(),
      level,
      message: redactText(message),
      fields: redactFields({ ...rest, ...error }),
    })
  }
}

import { type DestinationStream, destination, type Logger as Pino, pino, stdTimeFunctions } from 'pino'
import { prettyLine } from './pretty.js'
import { redactFields, redactText } from './redact.js'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'
export type LogFields = Readonly<Record<string, unknown>>

/** Log lines for people and for machines. Secrets are hidden in every line. */
export interface Logger {
  debug(msg: string, fields?: LogFields): void
  info(msg: string, fields?: LogFields): void
  warn(msg: string, fields?: LogFields): void
  error(msg: string, fields?: LogFields): void
  /** A logger that adds these fields to each of its lines. */
  child(fields: LogFields): Logger
}

export interface LogOptions {
  /** The part of Vitrina that logs: `api`, `runner`. */
  readonly service: string
  readonly version: string
  readonly level: LogLevel
  readonly format: 'json' | 'pretty'
  /** Where lines are written. Default stderr, because stdout is for the data that a command prints. */
  readonly destination?: DestinationStream
}

export function createLog(options: LogOptions): Logger {
  // Synchronous: the line with the reason why a process ended must be written before it ends.
  const target = options.destination ?? destination({ dest: 2, sync: true })
  const settings = {
    level: options.level,
    base: { service: options.service, version: options.version },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
    // Errors are plain fields by then. pino would describe them once more, as of type "Object".
    serializers: { err: (error: unknown) => error },
  }
  return new PinoLog(pino(settings, options.format === 'json' ? target : prettyTo(target)))
}

function prettyTo(target: DestinationStream): DestinationStream {
  const colour = process.stderr.isTTY === true && !process.env.NO_COLOR
  return { write: (line) => target.write(prettyLine(line, colour)) }
}

class PinoLog implements Logger {
  readonly #pino: Pino

  constructor(log: Pino) {
    this.#pino = log
  }

  debug(msg: string, fields: LogFields = {}): void {
    this.#write('debug', msg, fields)
  }

  info(msg: string, fields: LogFields = {}): void {
    this.#write('info', msg, fields)
  }

  warn(msg: string, fields: LogFields = {}): void {
    this.#write('warn', msg, fields)
  }

  error(msg: string, fields: LogFields = {}): void {
    this.#write('error', msg, fields)
  }

  child(fields: LogFields): Logger {
    return new PinoLog(this.#pino.child(redactFields(fields)))
  }

  #write(level: Exclude<LogLevel, 'silent'>, msg: string, fields: LogFields): void {
    if (this.#pino.isLevelEnabled(level)) this.#pino[level](redactFields(fields), redactText(msg))
  }
}

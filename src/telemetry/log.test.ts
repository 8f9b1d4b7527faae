import { describe, expect, it } from 'vitest'
import { VitrinaError } from '../model/errors.js'
import { createLog, type LogOptions } from './log.js'

function aLog(options: Partial<LogOptions> = {}) {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLog({
    service: 'runner',
    version: '1.2.3',
    level: 'info',
    format: 'json',
    destination,
    ...options,
  })
  return { log, lines }
}

describe('json', () => {
  it('writes one object per line, with time, level, message, service, version and the fields', () => {
    const { log, lines } = aLog()
    log.info('Run started.', { run_id: 'r1', rows: 3 })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/^\{.*\}\n$/)
    const line = JSON.parse(lines[0]!)
    expect(line).toMatchObject({
      level: 'info',
      msg: 'Run started.',
      service: 'runner',
      version: '1.2.3',
      run_id: 'r1',
      rows: 3,
    })
    expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  it('hides secrets in messages, fields and the fields of a child', () => {
    const { log, lines } = aLog()
    log.child({ token: 'abc' }).warn('postgres://u:pw@h/d', { err: new Error('postgres://u:pw@h/d') })
    expect(lines[0]).not.toMatch(/pw|abc/)
  })

  it('logs nothing below its level, and nothing at all when silent', () => {
    const { log, lines } = aLog()
    log.debug('unheard')
    aLog({ level: 'silent', destination: { write: () => expect.unreachable() } }).log.error('unheard')
    expect(lines).toEqual([])
  })
})

describe('pretty', () => {
  it('writes a line for people, without colours if there is no terminal', () => {
    const { log, lines } = aLog({ format: 'pretty' })
    log.child({ pipeline: 'film_dim' }).info('Batch 3 done.', { rows: 500, step: 'read all' })
    expect(lines[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}Batch 3 done\. pipeline=film_dim rows=500 step="read all"\n$/,
    )
  })

  it('prevents data from faking a line or controlling the terminal', () => {
    const { log, lines } = aLog({ format: 'pretty' })
    log.info('name\n12:00:00.000 ERROR', { name: 'a\u001b[2Jb\u009b' })
    expect(lines[0]!.trimEnd()).not.toMatch(/\p{Cc}/u)
  })

  it('shows no stack of a known error, which has a code and a hint', () => {
    const cause = new Error('the database system is starting up')
    const err = new VitrinaError('DATABASE_UNAVAILABLE', 'No connection.', 'Wait.', { cause })
    for (const format of ['pretty', 'json'] as const) {
      const { log, lines } = aLog({ format })
      log.error('Connection to the meta store lost.', { err })
      expect(lines.join('')).toContain('No connection.')
      expect(lines.join('')).not.toMatch(/\bat .*log\.test\.ts/)
    }
    const { log, lines } = aLog()
    log.error('Connection to the meta store lost.', { err })
    expect(JSON.parse(lines[0]!).err).toEqual({
      ...{ type: 'VitrinaError', message: 'No connection.', code: 'DATABASE_UNAVAILABLE' },
      cause: { type: 'Error', message: 'the database system is starting up' },
    })
  })

  it('shows the stack of the cause of an unexpected error', () => {
    const { log, lines } = aLog({ format: 'pretty' })
    const cause = new TypeError('x is not a function')
    log.error('Tick failed.', { err: new VitrinaError('INTERNAL', 'Unexpected.', 'Look.', { cause }) })
    expect(lines[0]).toMatch(/caused by "x is not a function"\n +at .*log\.test\.ts/)
  })

  it('shows the stack of an unexpected error', () => {
    const { log, lines } = aLog({ format: 'pretty' })
    log.error('Tick failed.', { err: new TypeError('x is not a function') })
    expect(lines[0]).toContain('err="x is not a function"')
    expect(lines[0]).toMatch(/\n +at .*log\.test\.ts/)
  })
})

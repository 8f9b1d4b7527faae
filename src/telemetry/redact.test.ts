import { describe, expect, it } from 'vitest'
import { VitrinaError } from '../model/errors.js'
import { redactFields, redactText } from './redact.js'

describe('redactText', () => {
  it.each([
    ['cannot reach postgres://etl:s3cret@db:5432/cinema', 'cannot reach postgres://etl:***@db:5432/cinema'],
    ['postgresql://etl:p@ss:w@rd@db/cinema failed', 'postgresql://etl:***@db/cinema failed'],
    [
      'postgres://db/cinema?user=etl&password=s3cret&ssl=1',
      'postgres://db/cinema?user=etl&password=***&ssl=1',
    ],
    ['https://elastic:s3cret@search:9200', 'https://elastic:***@search:9200'],
    ['sent Authorization: Bearer abc.def-123', 'sent Authorization: Bearer ***'],
    ['host=db password=s3cret dbname=x', 'host=db password=*** dbname=x'],
  ])('hides the secret in %s', (text, expected) => {
    expect(redactText(text)).toBe(expected)
  })

  it('leaves a sentence without secrets as it is', () => {
    const text = 'postgres://db:5432/cinema refused: password authentication failed for user "etl"'
    expect(redactText(text)).toBe(text)
  })
})

describe('redactFields', () => {
  it('hides values by the name of their field, at any depth', () => {
    const fields = {
      user: 'etl',
      db: { Password: 'x', apiKey: 'y' },
      list: [{ authorization: 'z' }],
      accessToken: 't',
    }
    expect(redactFields(fields)).toEqual({
      user: 'etl',
      db: { Password: '***', apiKey: '***' },
      list: [{ authorization: '***' }],
      accessToken: '***',
    })
  })

  it('shows an error with its code and cause, and hides secrets in both', () => {
    const cause = Object.assign(new Error('no route to postgres://u:pw@h/d'), {
      code: 'ECONNREFUSED',
      detail: 'Key (id)=(7)',
    })
    const { err } = redactFields({ err: new VitrinaError('DATABASE_UNAVAILABLE', 'gone', 'wait', { cause }) })
    expect(err).toMatchObject({ type: 'VitrinaError', message: 'gone', code: 'DATABASE_UNAVAILABLE' })
    expect(err).toMatchObject({
      cause: { message: 'no route to postgres://u:***@h/d', code: 'ECONNREFUSED' },
    })
    expect(JSON.stringify(err)).not.toContain('Key (id)')
    expect(JSON.stringify(err)).not.toContain('pw')
  })

  it('survives a structure that holds itself, and a bigint', () => {
    const loop: Record<string, unknown> = { big: 2n ** 63n }
    loop.self = loop
    expect(() => JSON.stringify(redactFields(loop))).not.toThrow()
  })
})

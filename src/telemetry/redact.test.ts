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
    ['password=s3cret', 'password=***'],
    ['PGPASSWORD=s3cret psql', 'PGPASSWORD=*** psql'],
    ["env PGPASSWORD='s3 cret' psql", 'env PGPASSWORD=*** psql'],
    ['password="s3 cr\\"et" user=x', 'password=*** user=x'],
    ['{"user":"etl","password":"s3cret","port":1}', '{"user":"etl","password":***,"port":1}'],
    ["{'api_key': 's3cret'}", "{'api_key': ***}"],
    ['sent {\\"token\\":\\"s3cret\\"}', 'sent {\\"token\\":\\***'],
    ['Password: s3cret', 'Password: ***'],
    ['X-Api-Key: s3cret', 'X-Api-Key: ***'],
    ['Authorization: ApiKey s3cret==', 'Authorization: ApiKey ***'],
    ['authorization: s3cret', 'authorization: ***'],
    ['"Authorization":"Basic czNjcmV0"', '"Authorization":"Basic ***"'],
    ['the token vtr_s3cret-s3cret_s3cret is old', 'the token vtr_*** is old'],
    ['cookie: a=s3cret; vitrina_session_80=s3cret', 'cookie: ***'],
    ['Set-Cookie: a=s3cret; Path=/', 'Set-Cookie: ***'],
    ['{"cookie":"a=s3cret; b=c","x":1}', '{"cookie":"***","x":1}'],
    ['mongodb://u:s3cret@a,mongodb://v:s3cret@b/', 'mongodb://u:***@b/'],
    ['spark.hadoop.fs.s3a.secret.key=s3cret', 'spark.hadoop.fs.s3a.secret.key=***'],
    ['access-key: s3cret', 'access-key: ***'],
    [
      "ALTER ROLE a LOGIN PASSWORD 's3 ''cret' VALID UNTIL 'x'",
      "ALTER ROLE a LOGIN PASSWORD '***' VALID UNTIL 'x'",
    ],
    ['signed with whsec_czNjcmV0czNjcmV0+/=', 'signed with whsec_***'],
    [
      'POST https://hooks.slack.com/services/T0/B0/s3cret failed',
      'POST https://hooks.slack.com/services/*** failed',
    ],
    ['https://api.telegram.org/bot123:AA-s3cret/send', 'https://api.telegram.org/bot123:***/send'],
    ['/o?X-Amz-Date=1&X-Amz-Signature=s3cret&x=1', '/o?X-Amz-Date=1&X-Amz-Signature=***&x=1'],
    ['key -----BEGIN RSA PRIVATE KEY-----\ns3cret\n', 'key -----BEGIN RSA PRIVATE KEY-----***'],
    ['sent eyJhbGciOiJub25lIn0.eyJzM2NyZXQiOjF9.s3cret now', 'sent *** now'],
    ['client_secret=s3cret&x=1', 'client_secret=***&x=1'],
  ])('hides the secret in %s', (text, expected) => {
    expect(redactText(text)).toBe(expected)
    expect(redactText(expected)).not.toContain('s3cret')
  })

  it.each([
    'postgres://db:5432/cinema refused: password authentication failed for user "etl"',
    'Unexpected token: }',
    'see https://example.org/a:b and https://example.org/@name',
    'The field tokens is not known.',
  ])('leaves a sentence without secrets unchanged: %s', (text) => {
    expect(redactText(text)).toBe(text)
  })

  it('cuts a text to 4 kB, and hides a secret that the cut would split', () => {
    expect(redactText('x'.repeat(20_000_000))).toHaveLength(4_000)
    const text = `${'x'.repeat(4_080)} password=${'s3cret'.repeat(100)}`
    expect(redactText(text)).not.toContain('s3cret')
  })

  it('replaces what PostgreSQL cannot store, and nothing else', () => {
    expect(redactText('a\0b \ud83d c \ude00 😀\n\u0001')).toBe('a\ufffdb \ufffd c \ufffd 😀\n\u0001')
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

  it('handles a circular structure, and a bigint', () => {
    const loop: Record<string, unknown> = { big: 2n ** 63n }
    loop.self = loop
    expect(() => JSON.stringify(redactFields(loop))).not.toThrow()
  })
})

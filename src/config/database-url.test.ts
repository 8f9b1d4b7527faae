import { describe, expect, it } from 'vitest'
import { chosenPasswords, loginUrl, readSettings } from './settings.js'

const read = (DATABASE_URL: string) => readSettings({ DATABASE_URL }).DATABASE_URL

describe('the address of a database', () => {
  it.each([
    'postgres://postgres:secret@localhost:5432/shop',
    'postgresql://host/shop?sslmode=require&options=-c%20work_mem%3D1GB',
    'postgres://user:100%25@[::1]:5432/shop',
    'postgres://user:p@ss@host/shop',
  ])('is used unchanged: %s', (url) => {
    expect(read(url)).toBe(url)
  })

  it.each([
    ['postgresql:///shop?user=etl&password=p%23%2F', null],
    ['postgresql:///shop?host=/run/pg&user=etl', 'postgresql://etl@%2Frun%2Fpg/shop'],
    ['postgresql://etl@/shop?host=/run/pg&port=5433', 'postgresql://etl@%2Frun%2Fpg:5433/shop'],
    ['postgres://a:b@h/shop?user=etl&password=p%23%2F', 'postgres://etl:p%23%2F@h/shop'],
    ['postgres://a:b@h:1/shop?host=::1&options=-c+x%3D1', 'postgres://a:b@[::1]:1/shop?options=-c%20x%3D1'],
  ])('with its login or server as parameters: %s', (url, canonical) => {
    if (canonical === null) expect(() => read(url)).toThrow(/^DATABASE_URL must name a server/)
    else expect(read(url)).toBe(canonical)
  })

  it('never keeps the login of the administrator in the addresses of the three logins', () => {
    for (const url of [
      'postgres://h/shop?user=postgres&password=secret',
      'postgresql:///shop?host=/run/pg&user=postgres&password=secret',
    ]) {
      const settings = readSettings({ DATABASE_URL: url })
      for (const login of ['reader', 'writer', 'meta'] as const) {
        const derived = loginUrl(settings, login)
        expect(derived).toContain(`//vitrina_${login}:`)
        expect(derived).not.toMatch(/secret|user=|password=/)
      }
    }
    // Derived from the password, wherever it is.
    const [first, second] = ['?user=a&password=one', '?user=a&password=two'].map((parameters) =>
      loginUrl(readSettings({ DATABASE_URL: `postgres://h/shop${parameters}` }), 'reader'),
    )
    expect(first).not.toBe(second)
  })

  it('has the password of a login that an operator chose', () => {
    const VITRINA_API_DATABASE_URL = 'postgres://h/shop?user=vitrina_meta&password=mine'
    expect(chosenPasswords(readSettings({ VITRINA_API_DATABASE_URL }))).toEqual({ meta: 'mine' })
  })

  it.each([
    ['mysql://h/shop', /must begin with postgres:/],
    ['postgres://etl:100%@h/shop', /has a % that is not part of an escape/],
    ['postgres://etl:se#cret@h/shop', /must be an address such as .*%23/],
    ['postgres://etl:12#cret@h/shop', /must be an address such as .*%23/],
    ['postgres://etl:se/cret@h/shop', /must be an address such as .*%2F/],
    ['postgres://etl:se?cret@h/shop', /must be an address such as .*%3F/],
    ['postgres://etl:secret@h:port/shop', /must be an address such as /],
    ['postgres://h/shop?port=many', /has a port that is not a number/],
    ['postgresql:///shop', /must name a server/],
    ['postgres://', /must name a server/],
  ])('is rejected with the reason, and not shown: %s', (url, reason) => {
    expect(() => read(url)).toThrow(reason)
    expect(() => readSettings({ VITRINA_CONNECTION_DWH_URL: url })).toThrow(reason)
    expect(() => read(url)).not.toThrow(/cret|:12/)
  })

  it('of a named connection is read the same way', () => {
    const { connections } = readSettings({ VITRINA_CONNECTION_DWH_URL: 'postgres://h/dwh?user=etl' })
    expect(connections.get('dwh')).toBe('postgres://etl@h/dwh')
  })
})

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readTable } from '../../config/settings.js'
import { isAllowedTarget } from '../../model/target.js'
import { CLIENT_PACKAGE, type ClientModule } from './client.js'
import { addressOf, nameProblem } from './config.js'
import { clickhouse } from './index.js'

const settingsOf = (environment: NodeJS.ProcessEnv) => readTable(clickhouse.settings, environment)
const kindOf = (environment: NodeJS.ProcessEnv) => clickhouse.create(settingsOf(environment))

describe('the kind ch:', () => {
  it('reports that CLICKHOUSE_URL is not set', async () => {
    const missing = await kindOf({}).missing()
    expect(missing?.message).toContain('CLICKHOUSE_URL is not set')
    await expect(kindOf({}).ping(new AbortController().signal)).rejects.toMatchObject({
      code: 'SINK_MISSING',
    })
  })

  it('explains how to install the client if it is missing', async () => {
    const absent = async (): Promise<ClientModule> => import('not-installed' as string)
    const kind = clickhouse.create(settingsOf({ CLICKHOUSE_URL: 'http://localhost:8123' }), absent)
    expect(await kind.missing()).toEqual({
      message: 'The ClickHouse client is not installed.',
      hint: `Install it next to Vitrina: npm install --save-exact ${CLIENT_PACKAGE}`,
    })
  })

  it('misses nothing with an address and the client, which is the one of package.json', async () => {
    expect(await kindOf({ CLICKHOUSE_URL: 'http://localhost:8123' }).missing()).toBeNull()
    const { optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
    expect(CLIENT_PACKAGE).toBe(`@clickhouse/client@${optionalDependencies['@clickhouse/client']}`)
  })

  it('allows pipelines to write the tables in ALLOWED_CH_TABLES, R4.12', () => {
    const rules = (allowed?: string) => ({ tables: [], kinds: [kindOf({ ALLOWED_CH_TABLES: allowed })] })
    expect(isAllowedTarget('ch:analytics.film_dim', rules())).toBe(true)
    expect(isAllowedTarget('ch:film_dim', rules())).toBe(false)
    expect(isAllowedTarget('ch:system.tables', rules())).toBe(false)
    expect(isAllowedTarget('ch:film_dim', rules('film_dim,x.*'))).toBe(true)
  })

  it('rejects names that the server or its own tables use', () => {
    for (const name of ['film_dim', 'analytics.film_dim', '_x.Y1']) expect(nameProblem(name), name).toBeNull()
    for (const name of [
      '',
      'a.b.c',
      'a-b',
      '1a',
      'a b',
      'a.',
      'system.x',
      'a__data',
      'a.b__new_1',
      'a__keys_',
      'a'.repeat(151),
    ])
      expect(nameProblem(name), name).not.toBeNull()
  })

  it('reads options with their defaults, and reports what is wrong with each', () => {
    const kind = kindOf({})
    expect(kind.readOptions({})).toEqual({ options: { numeric: 'decimal', compare: true } })
    expect(kind.readOptions({ numeric: 'float', compare: 1, shards: 3 })).toEqual({
      problems: [
        { field: 'numeric', message: 'must be decimal or string' },
        { field: 'compare', message: 'must be true or false' },
        { field: 'shards', message: 'is not an option of ch: targets (numeric, compare)' },
      ],
    })
  })

  it('takes user, password and database from the URL unless settings override them', () => {
    const url = 'https://etl:a%20secret@clickhouse:8443/marts'
    expect(addressOf(settingsOf({ CLICKHOUSE_URL: url }))).toEqual({
      origin: 'https://clickhouse:8443',
      username: 'etl',
      password: 'a secret',
      database: 'marts',
    })
    const settings = { CLICKHOUSE_USERNAME: 'u', CLICKHOUSE_PASSWORD: 'p', CLICKHOUSE_DATABASE: 'd' }
    expect(addressOf(settingsOf({ CLICKHOUSE_URL: url, ...settings }))).toMatchObject({
      username: 'u',
      password: 'p',
      database: 'd',
    })
  })

  it('does not repeat a URL that it cannot read', () => {
    expect(() => settingsOf({ CLICKHOUSE_URL: 'tcp://etl:secret@x' })).toThrow(
      expect.objectContaining({ code: 'SETTING_INVALID', message: expect.not.stringContaining('secret') }),
    )
  })
})

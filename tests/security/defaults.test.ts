import { describe, expect, it } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { Session } from '../../src/postgres/session.js'
import { aDatabase } from '../support/database.js'
import { hasOpenssl, tlsFront } from '../support/tls-front.js'

describe('an installation without settings', () => {
  it('serves the API and the metrics of a runner on the loopback address only', () => {
    const { VITRINA_HOST, RUNNER_METRICS_HOST, RUNNER_METRICS_PORT } = readSettings({})
    expect([VITRINA_HOST, RUNNER_METRICS_HOST]).toEqual(['127.0.0.1', '127.0.0.1'])
    // Without a port, a runner does not listen.
    expect(RUNNER_METRICS_PORT).toBeUndefined()
  })
})

describe('a database connection with sslmode=verify-full', () => {
  it('is refused if the certificate of the server is not trusted', async (context) => {
    if (!(await hasOpenssl())) return context.skip('openssl is not installed')
    const { url } = await aDatabase()
    const front = new URL(await tlsFront(url))
    const open = async (mode: string) => {
      front.searchParams.set('sslmode', mode)
      const session = await Session.open(front.href, 'vitrina-test', new AbortController().signal)
      const rows = await session.rows('SELECT 1 AS one')
      await session.close()
      return rows
    }
    await expect(open('verify-full')).rejects.toThrow(/certificate/)
    expect(await open('no-verify')).toEqual([{ one: '1' }])
  })
})

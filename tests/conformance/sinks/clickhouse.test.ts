import { aClickHouse } from '../../support/clickhouse.js'
import { sinkSuite } from './suite.js'

const server = await aClickHouse()

sinkSuite({
  name: 'ClickHouse (real engine, HTTP front of our own)',
  inProcesses: true,
  start: async () => ({
    env: { CLICKHOUSE_URL: server.url, ALLOWED_CH_TABLES: '*' },
    target: (name) => `ch:${name}`,
    read: async (_database, name) => {
      const found = await server.rows(`SELECT count() FROM system.tables WHERE name = '${name}'`)
      if (found[0]![0] === '0') return null
      const rows = await server.rows(
        `SELECT toString(id), if(isNull(title), 'N', concat('T', hex(title))), toString(n) FROM ${name} ORDER BY id`,
      )
      return rows.map(([id, title, n]) => ({
        id: id!,
        title: title === 'N' ? null : Buffer.from(title!.slice(1), 'hex').toString('utf8'),
        n: n === '\\N' ? null : n!,
      }))
    },
    close: async () => {},
  }),
})

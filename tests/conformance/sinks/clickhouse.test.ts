import { aClickHouse } from '../../support/clickhouse.js'
import { inTurn } from '../../support/sample.js'
import { BETWEEN_SERVERS, sinkSuite } from './suite.js'

const server = await aClickHouse()

sinkSuite({
  name: 'ClickHouse (real engine, HTTP front of our own)',
  crashes: inTurn(BETWEEN_SERVERS, 2),
  start: async () => ({
    env: { CLICKHOUSE_URL: server.url, ALLOWED_CH_TABLES: '*' },
    isParted: true,
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
    tamper: async (_database, name) => {
      await server.rows(`DELETE FROM ${name}__data WHERE id = 1`)
      await server.rows(
        `ALTER TABLE ${name}__data UPDATE title = 'wrong' WHERE id = 2 SETTINGS mutations_sync = 1`,
      )
      await server.rows(`INSERT INTO ${name}__data SELECT * REPLACE (9999 AS id) FROM ${name}__data LIMIT 1`)
    },
    close: async () => {},
  }),
})

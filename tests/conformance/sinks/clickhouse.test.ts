import { aClickHouse } from '../../support/clickhouse.js'
import { type SeenRow, sinkSuite } from './suite.js'

const server = await aClickHouse()

sinkSuite({
  name: 'ClickHouse (real engine, HTTP front of our own)',
  inProcesses: true,
  start: async () => ({
    env: { CLICKHOUSE_URL: server.url },
    target: (name) => `ch:analytics.${name}`,
    read: async (_database, name) => {
      const found = await server.rows(`EXISTS TABLE analytics.${name}`).catch(() => [['0']])
      if (found[0]![0] === '0') return null
      const lines = await server.rows(
        `SELECT toString(id) AS id, title, toString(n) AS n FROM analytics.${name} ORDER BY analytics.${name}.id FORMAT JSONEachRow`,
      )
      return lines.map(([line]) => JSON.parse(line!) as SeenRow)
    },
    close: async () => {},
  }),
})

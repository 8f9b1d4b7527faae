import { aClickHouse } from '../../support/clickhouse.js'
import { inTurn } from '../../support/sample.js'
import { clickhouseMarts } from '../../support/sink-servers.js'
import { BETWEEN_SERVERS, sinkSuite } from './suite.js'

const server = await aClickHouse()

sinkSuite({
  name: 'ClickHouse (real engine, HTTP front of our own)',
  place: 1,
  crashes: inTurn(BETWEEN_SERVERS, 2),
  start: async () => clickhouseMarts(server),
})

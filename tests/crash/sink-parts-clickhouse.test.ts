import { aClickHouse } from '../support/clickhouse.js'
import { clickhouseMarts } from '../support/sink-servers.js'
import { sinkPartsSuite } from './sink-parts.js'

const server = await aClickHouse()

sinkPartsSuite({ name: 'ClickHouse', place: 1, start: async () => clickhouseMarts(server) })

import { inTurn, someOf } from '../../support/sample.js'
import { elasticsearchMarts } from '../../support/sink-servers.js'
import { BETWEEN_SERVERS, sinkSuite } from './suite.js'

const MODES = ['update', 'index']

for (const [place, write_mode] of MODES.entries()) {
  sinkSuite({
    name: `Elasticsearch, write_mode ${write_mode}`,
    place: 0,
    // In `npm test` each promise in one mode, and a crash in both.
    includes: (promise) => someOf(MODES, 1, (mode) => `${promise} ${mode}`).includes(write_mode),
    crashes: inTurn(BETWEEN_SERVERS, place),
    start: () => elasticsearchMarts(write_mode),
  })
}

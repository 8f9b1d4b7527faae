import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { ImageLog, namedScopes, rowsByScope, scopeValues } from './corpus/incremental.js'
import { SeededRandom } from './corpus/seeded-random.js'
import { TPCH, TPCH_MARTS, TPCH_TABLES } from './corpus/tpch.js'
import { readQueryFacts, type ScopeTrace, traceScopes } from './index.js'

const SEED = createHash('sha256').update(String(process.env.VITRINA_TEST_SEED)).digest().readInt32BE()
let session: Session

beforeAll(async () => {
  const database = await aDatabase({ migrated: false })
  await database.query(TPCH)
  session = await Session.open(database.url, 'vitrina-tpch', new AbortController().signal)
})
afterAll(() => session.close())

const traces = new Map<string, ScopeTrace>()

describe('the queries of TPC-H as marts', () => {
  for (const { name, key, sql, scope, untraced = [] } of TPCH_MARTS)
    it(`${name}: ${scope === null ? 'not traced' : `by ${scope.join(', ')}`}`, async () => {
      const trace = traceScopes(await readQueryFacts(session, sql), key)
      traces.set(name, trace)
      expect(await session.rows(sql), 'the rows of this file let something through').not.toEqual([])
      if (!trace.traced) {
        expect(trace.reason).toMatch(/No key column separates|The key has one value/)
        expect(scope).toBeNull()
        return
      }
      expect(trace.scope.map((column) => column.name)).toEqual(scope)
      const lost = trace.tables.filter(({ occurrences }) => occurrences.some((each) => !each.traced))
      expect(new Set(lost.map(({ table }) => table.table))).toEqual(new Set(untraced))
    })

  it(`are equal to their queries after random changes (seed ${SEED})`, async () => {
    const random = new SeededRandom(SEED)
    let recomputed = 0
    for (let round = 0; round < 12; round++) {
      const marts = await readMarts()
      const log = await ImageLog.around(session, { schema: 'tpch', tables: TPCH_TABLES }, changes(random))
      for (const { name, sql, key } of TPCH_MARTS) {
        const trace = traces.get(name)!
        if (!trace.traced || log.needsFull(trace)) continue
        const expected = rowsByScope(await session.rows(sql), key, trace.scope)
        const mart = new Map(marts.get(name))
        const named = await namedScopes(session, trace, log)
        for (const each of named) mart.delete(each)
        if (named.size > 0) {
          const rows = await session.rows(trace.recompute.lateral, scopeValues(named, trace.scope))
          for (const [at, found] of rowsByScope(rows, key, trace.scope)) mart.set(at, found)
          recomputed += named.size
        }
        expect(Object.fromEntries(mart), name).toEqual(Object.fromEntries(expected))
      }
    }
    expect(recomputed).toBeGreaterThan(0)
  })
})

async function readMarts(): Promise<Map<string, ReadonlyMap<string, readonly string[]>>> {
  const marts = new Map<string, ReadonlyMap<string, readonly string[]>>()
  for (const { name, sql, key } of TPCH_MARTS) {
    const trace = traces.get(name)!
    if (trace.traced) marts.set(name, rowsByScope(await session.rows(sql), key, trace.scope))
  }
  return marts
}

/** Each set leaves some tables alone, so that every mart has sets that it can follow. */
function changes(random: SeededRandom): string {
  const [order, part, supplier, customer] = [random.int(60), random.int(15), random.int(12), random.int(12)]
  const all = [
    `UPDATE tpch.orders SET o_orderpriority = '1-URGENT', o_custkey = ${customer} WHERE o_orderkey = ${order}`,
    `UPDATE tpch.orders SET o_orderdate = o_orderdate + 200, o_orderstatus = 'F' WHERE o_orderkey = ${order}`,
    `DELETE FROM tpch.orders WHERE o_orderkey = ${order}`,
    `DELETE FROM tpch.lineitem WHERE l_orderkey = ${order} AND l_linenumber = 1`,
    `UPDATE tpch.lineitem SET l_quantity = l_quantity + 40, l_shipmode = 'MAIL' WHERE l_orderkey = ${order}`,
    `UPDATE tpch.lineitem SET l_suppkey = ${supplier}, l_partkey = ${part} WHERE l_orderkey = ${order}`,
    `UPDATE tpch.partsupp SET ps_supplycost = ${random.int(9)} WHERE ps_partkey = ${part}`,
    `DELETE FROM tpch.partsupp WHERE ps_partkey = ${part} AND ps_suppkey = ${supplier}`,
    `UPDATE tpch.part SET p_size = 15, p_type = 'LARGE STEEL' WHERE p_partkey = ${part}`,
    `UPDATE tpch.supplier SET s_nationkey = ${random.int(6)} WHERE s_suppkey = ${supplier}`,
    `UPDATE tpch.customer SET c_nationkey = ${random.int(6)}, c_mktsegment = 'BUILDING' WHERE c_custkey = ${customer}`,
    `UPDATE tpch.nation SET n_regionkey = ${random.int(3)} WHERE n_nationkey = ${random.int(6)}`,
  ]
  return random.some(all, random.int(4)).join('; ')
}

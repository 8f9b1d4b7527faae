import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { LAB, LAB_ROWS } from './corpus/lab.js'
import { SHAPES, type Shape } from './corpus/shapes.js'
import { type QueryFacts, readQueryFacts, type ScopeTrace, type Traced, traceScopes } from './index.js'

let session: Session

beforeAll(async () => {
  const database = await aDatabase({ migrated: false })
  await database.query(LAB + LAB_ROWS)
  await database.query('VACUUM ANALYZE')
  session = await Session.open(database.url, 'vitrina-shapes', new AbortController().signal)
  // Blocks are compared: workers would read some twice.
  await session.run('SET max_parallel_workers_per_gather = 0; SET jit = off')
})
afterAll(() => session.close())

async function traced({ sql, key }: Shape): Promise<{ facts: QueryFacts; trace: ScopeTrace }> {
  const facts = await readQueryFacts(session, sql)
  return { facts, trace: traceScopes(facts, key) }
}

/** Three scopes of the mart, as values for the parameters. */
async function someScopes({ text }: QueryFacts, { scope }: Traced): Promise<(string | null)[][]> {
  const columns = scope.map(({ name }, place) => `q."${name}"::text AS k${place}`)
  const rows = await session.rows(
    `SELECT * FROM (SELECT DISTINCT ${columns.join(', ')} FROM (${text}) q) x WHERE x IS NOT NULL ORDER BY md5(x::text) LIMIT 3`,
  )
  return scope.map((_, place) => rows.map((row) => row[`k${place}`] ?? null))
}

async function blocksOf(text: string, values: readonly unknown[] = []): Promise<number> {
  const [row] = await session.rows(`EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ${text}`, values)
  const [{ Plan: plan }] = JSON.parse(row!['QUERY PLAN']!) as [{ Plan: Record<string, number> }]
  return plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
}

const sorted = (rows: readonly object[]) => rows.map((row) => JSON.stringify(row)).sort()

describe('shapes of queries', () => {
  for (const shape of SHAPES)
    it(`${shape.name}: ${typeof shape.expected === 'string' ? 'not traced' : `by ${shape.expected.join(', ')}`}`, async () => {
      const { facts, trace } = await traced(shape)
      expect(trace.planDependent.map(({ name }) => name)).toEqual(shape.planDependent ?? [])
      if (!trace.traced) {
        expect(trace.reason).toContain(shape.expected)
        return
      }
      expect(trace.scope.map(({ name }) => name)).toEqual(shape.expected)
      const untraced = trace.tables.filter(({ occurrences }) => occurrences.some((each) => !each.traced))
      expect(untraced.map(({ table }) => table.table)).toEqual(shape.untraced ?? [])
      const scopes = await someScopes(facts, trace)
      expect(scopes[0]).toHaveLength(3)
      // Where the plan decides, the rows may differ.
      if (trace.planDependent.length === 0) {
        const lateral = sorted(await session.rows(trace.recompute.lateral, scopes))
        expect(lateral.length).toBeGreaterThan(0)
        expect(sorted(await session.rows(trace.recompute.any, scopes))).toEqual(lateral)
      }
      if (shape.isPushed) {
        const full = await blocksOf(trace.recompute.full)
        expect(await blocksOf(trace.recompute.lateral, scopes)).toBeLessThan(full / 3)
      }
    })
})

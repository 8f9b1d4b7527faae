import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { isKnownTo } from '../guard/corpus/first-version.js'
import { FIXTURES } from '../guard/corpus/fixtures.js'
import { HONEST } from '../guard/corpus/honest.js'
import { parseSql } from '../guard/index.js'
import { readDemoPipelines } from '../main/demo-data.js'
import type { QueryLineage, SourceColumn } from '../model/lineage.js'
import { Session } from '../postgres/session.js'
import { TWISTED } from './corpus/twisted.js'
import { lineageOf } from './query-lineage.js'

/**
 * The server knows which columns of which tables a query uses: it notes them for every view (pg_depend). What was
 * derived of the text must name exactly those, and the columns must be called what the server calls them.
 */
const { major } = inject('server')
const QUERIES = [...(await readDemoPipelines()).map(({ query }) => query), ...HONEST, ...TWISTED].filter(
  (sql) => isKnownTo(major, sql),
)
/** A row as a whole leaves no trace of its columns in pg_depend. */
const WHOLE_ROW = /\bSELECT f AS film\b|\((f|x)(\.\*)?\)|count\(d\)/
/** The server counts unused columns of an inner query. */
const UNREAD = /^WITH a AS \(TABLE|unread/
const known = new Map<string, string[]>()
let database: TestDatabase
let session: Session

beforeAll(async () => {
  database = await aDatabase({ cinema: true })
  await database.query(FIXTURES)
  session = await Session.open(database.url, 'vitrina-lineage', new AbortController().signal)
  const rows = await session.rows(`
    SELECT n.nspname || '.' || c.relname AS name, string_agg(a.attname, '|' ORDER BY a.attnum) AS columns
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
     WHERE n.nspname IN ('content', 'ugc') AND c.relkind IN ('r', 'v', 'm', 'p') GROUP BY 1`)
  for (const { name, columns } of rows) known.set(name!, columns!.split('|'))
})
afterAll(() => session.close())

async function derived(sql: string): Promise<QueryLineage> {
  const parsed = await parseSql(sql)
  if (parsed.kind !== 'tree') throw new Error(parsed.kind)
  return lineageOf(
    sql,
    parsed.statements[0]!.stmt as never,
    (schema, table) => known.get(`${schema}.${table}`) ?? null,
  )
}

interface ByServer {
  readonly columns: string[]
  readonly uses: string[]
  readonly canonical: string
}

async function byServer(sql: string): Promise<ByServer> {
  await session.run('BEGIN')
  try {
    await session.rows(`CREATE TEMPORARY VIEW seen AS\n${sql}`)
    const [view] = await session.rows(`
      SELECT pg_get_viewdef('pg_temp.seen'::regclass) AS text, string_agg(attname, '|' ORDER BY attnum) AS columns
        FROM pg_attribute WHERE attrelid = 'pg_temp.seen'::regclass AND attnum > 0`)
    const uses = await session.rows(`
      SELECT DISTINCT n.nspname || '.' || c.relname || '.' || a.attname AS name
        FROM pg_rewrite w
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
       WHERE w.ev_class = 'pg_temp.seen'::regclass AND d.refobjsubid <> 0 AND c.oid <> w.ev_class
         AND c.relkind <> 'c'`)
    return {
      columns: view!.columns!.split('|'),
      uses: uses.map(({ name }) => name!).sort(),
      canonical: view!.text!,
    }
  } finally {
    await session.run('ROLLBACK')
  }
}

function named({ schema, table, column }: SourceColumn): string {
  return `${schema}.${table}.${column}`
}

function usesOf({ columns, shaping }: QueryLineage): string[] {
  return [...new Set([...columns.flatMap(({ sources }) => sources), ...shaping].map(named))].sort()
}

const sourcesOf = ({ columns }: QueryLineage) => columns.map(({ sources }) => sources.map(named).sort())

describe('agrees with the server', () => {
  for (const sql of QUERIES) {
    it(JSON.stringify(sql.slice(0, 110)), async () => {
      const lineage = await derived(sql)
      const server = await byServer(sql)
      const traced = usesOf(lineage)
      const isWhole = lineage.open === null && lineage.columns.every(({ kind }) => kind !== 'unresolved')
      if (!WHOLE_ROW.test(sql)) expect(server.uses).toEqual(expect.arrayContaining(traced))
      if (isWhole && !UNREAD.test(sql)) expect(traced).toEqual(expect.arrayContaining(server.uses))
      if (!isWhole) return
      expect(lineage.columns.map(({ name }) => name)).toEqual(server.columns)
      // The same query as the server writes it: stars expanded, other aliases, additional casts.
      expect(sourcesOf(await derived(server.canonical))).toEqual(sourcesOf(lineage))
    })
  }

  it('and leaves almost nothing unresolved', async () => {
    const open: string[] = []
    for (const sql of QUERIES) {
      const { columns, open: reason } = await derived(sql)
      if (reason !== null || columns.some(({ kind }) => kind === 'unresolved')) open.push(sql)
    }
    expect(open).toEqual([
      'SELECT (d.pair).* FROM content.document d',
      expect.stringContaining('unnest(ARRAY[d.pair])'),
    ])
  })
})

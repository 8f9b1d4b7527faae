import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { someOf } from '../../tests/support/sample.js'
import { Session } from '../postgres/session.js'
import { borrowed } from './corpus/borrowed.js'
import { ALLOWED_FUNCTIONS } from './functions.js'
import { SqlGuard } from './index.js'
import { isKnownType } from './known-types.js'

const guard = new SqlGuard({ sourceSchemas: ['content'] })
const { major } = inject('server')
const VOLATILE = [
  'array_sample',
  'array_shuffle',
  'clock_timestamp',
  'gen_random_uuid',
  'random',
  'random_normal',
  'timeofday',
  'uuidv4',
  'uuidv7',
]
let database: TestDatabase
let session: Session

beforeAll(async () => {
  database = await aDatabase({ migrated: false })
  session = await Session.open(database.url, 'vitrina-guard', new AbortController().signal)
})

afterAll(() => session.close())

interface Overload {
  readonly name: string
  readonly signature: string
  readonly types: string[]
  readonly volatile: boolean
  readonly kind: string
  readonly variadic: boolean
}

/** What PostgreSQL has by these names. */
function overloads(): Promise<Overload[]> {
  return database.query<Overload & Record<string, unknown>>(
    `SELECT proname AS name, p.oid::regprocedure::text AS signature, provolatile = 'v' AS volatile, prokind AS kind, provariadic <> 0 AS variadic,
            ARRAY(SELECT t.typname::text FROM unnest(proargtypes) WITH ORDINALITY a(oid, n) JOIN pg_type t ON t.oid = a.oid ORDER BY n) AS types
       FROM pg_proc p WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY ($1) ORDER BY 2`,
    [[...ALLOWED_FUNCTIONS]],
  )
}

/** Of more than 500 texts `npm test` asks this many. */
const SAMPLE = 200

/** Texts that the guard rejects, with its reason. */
async function refusals(texts: readonly string[]): Promise<string[]> {
  const refusals: string[] = []
  for (const sql of someOf(texts, SAMPLE, (text) => text)) {
    const verdict = await guard.check(sql, borrowed(session))
    if (!verdict.ok) refusals.push(`${sql}: ${verdict.problems[0]?.message}`)
  }
  return refusals
}

describe('every allowed function', () => {
  it('exists in PostgreSQL, or is the name of a type', async ({ skip }) => {
    if (major < 18) skip('the list also has functions that came with later versions')
    const there = new Set((await overloads()).map(({ name }) => name))
    expect([...ALLOWED_FUNCTIONS].filter((name) => !there.has(name) && !isKnownType(name))).toEqual([])
  })

  it('only computes: it is not volatile, except those for time and random numbers', async () => {
    const volatile = (await overloads()).filter((one) => one.volatile).map(({ name }) => name)
    // PostgreSQL 14 wrongly calls the conversion of a time with a zone volatile.
    const known = major === 14 ? [...VOLATILE, 'timezone'] : VOLATILE
    expect(volatile.filter((name) => !known.includes(name))).toEqual([])
    if (major >= 18) expect([...new Set(volatile)].sort()).toEqual(VOLATILE)
  })

  it('takes no table, function or role by name', async () => {
    const lookups = (await overloads()).filter(({ types }) =>
      types.some((type) => /^_?(reg(?!config|dictionary)|refcursor)/.test(type)),
    )
    expect(lookups.map(({ signature }) => signature)).toEqual([])
  })

  it('is accepted with each kind of arguments', async () => {
    const plain = (await overloads()).filter(
      ({ types, kind, variadic }) => types.every(isKnownType) && kind === 'f' && !variadic,
    )
    // A record alone has no columns to name.
    const texts = plain
      .filter(({ types }) => !types.includes('record'))
      .map(
        ({ name, types }) =>
          `SELECT "${name}"(${types.map((type) => `NULL::${quoted(type)}`).join(', ')})::text AS a`,
      )
    expect(texts.length).toBeGreaterThan(500)
    expect(await refusals(texts)).toEqual([])
  })
})

describe('every operator of PostgreSQL', () => {
  it('is accepted between types that a query may name', async () => {
    const rows = await database.query<{ name: string; left: string | null; right: string }>(
      `SELECT oprname AS name, l.typname AS left, r.typname AS right FROM pg_operator o
         LEFT JOIN pg_type l ON l.oid = oprleft JOIN pg_type r ON r.oid = oprright
        WHERE oprnamespace = 'pg_catalog'::regnamespace ORDER BY o.oid`,
    )
    const texts = rows
      .filter(({ left, right }) => (left === null || isKnownType(left)) && isKnownType(right))
      .filter(({ right }) => right !== 'record')
      .map(
        ({ name, left, right }) =>
          `SELECT (${left === null ? '' : `NULL::${quoted(left)}`} ${name} NULL::${quoted(right)})::text AS a`,
      )
    expect(texts.length).toBeGreaterThan(500)
    expect(await refusals(texts)).toEqual([])
  })

  it('only computes', async () => {
    const volatile = await database.query(
      `SELECT o.oid::regoperator::text FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode
        WHERE oprnamespace = 'pg_catalog'::regnamespace AND (provolatile = 'v' OR prosecdef)`,
    )
    expect(volatile).toEqual([])
  })
})

function quoted(type: string): string {
  return type === 'char' ? '"char"' : type
}

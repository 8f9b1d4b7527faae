import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { aDatabase, type TestDatabase } from '../../tests/support/database.js'
import { Session } from '../postgres/session.js'
import { applyPublication, planAddition, planPublication } from './publication.js'

async function sessionTo(database: TestDatabase): Promise<Session> {
  const session = await Session.open(database.url, 'vitrina-test', new AbortController().signal)
  onTestFinished(() => session.close())
  return session
}

function tables(...names: string[]) {
  return names.map((table) => ({ schema: 'public', table }))
}

const SQL = `
  CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE "B c" (id int PRIMARY KEY);
  CREATE TABLE bare (id int); CREATE TABLE whole (id int); ALTER TABLE whole REPLICA IDENTITY FULL;
  CREATE TABLE nothing (id int PRIMARY KEY); ALTER TABLE nothing REPLICA IDENTITY NOTHING;
  CREATE TABLE late (id int PRIMARY KEY DEFERRABLE);
  CREATE TABLE by_index (id int NOT NULL UNIQUE); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_id_key;
  CREATE UNLOGGED TABLE fast (id int PRIMARY KEY); CREATE VIEW v AS SELECT 1 AS id;
  CREATE TABLE parts (id int, g int) PARTITION BY LIST (g);
  CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1); ALTER TABLE parts_1 ADD PRIMARY KEY (id);
  CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);`

async function aSource(): Promise<Session> {
  const database = await aDatabase({ migrated: false })
  await database.query(SQL)
  return sessionTo(database)
}

describe('the plan of a publication', () => {
  it('is created, extended and reduced to exactly the tables that are needed', async () => {
    const session = await aSource()
    const plan = async (...names: string[]) => {
      const { statements } = await planPublication(session, 'pub', tables(...names))
      await applyPublication(session, { statements, refused: [] })
      return statements
    }
    expect(await plan('a', 'whole')).toEqual([
      `CREATE PUBLICATION "pub" FOR TABLE "public"."a", "public"."whole" WITH (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)`,
    ])
    expect(await plan('a', 'whole')).toEqual([])
    expect(await plan('a', 'B c', 'by_index')).toEqual([
      'ALTER PUBLICATION "pub" ADD TABLE "public"."B c", "public"."by_index"',
      'ALTER PUBLICATION "pub" DROP TABLE "public"."whole"',
    ])
    await session.run("ALTER PUBLICATION pub SET (publish = 'insert', publish_via_partition_root = false)")
    expect(await plan('a', 'B c', 'by_index')).toEqual([
      `ALTER PUBLICATION "pub" SET (publish = 'insert, update, delete, truncate', publish_via_partition_root = true)`,
    ])
  })

  it('separates what a table lacks from other tables that can no longer be published', async () => {
    const session = await aSource()
    await session.run(
      'CREATE PUBLICATION pub FOR TABLE public.a, public.nothing WITH (publish_via_partition_root = true)',
    )
    const drop = 'ALTER PUBLICATION "pub" DROP TABLE "public"."nothing"'
    expect(await planAddition(session, 'pub', tables('a'))).toEqual({
      statements: [drop],
      adding: [],
      refused: [],
    })
    expect(await planAddition(session, 'pub', tables('whole'))).toMatchObject({
      statements: ['ALTER PUBLICATION "pub" ADD TABLE "public"."whole"', drop],
      adding: ['ALTER PUBLICATION "pub" ADD TABLE "public"."whole"'],
    })
  })

  it('refuses tables whose updates would fail, or whose changes are not in the WAL', async () => {
    const session = await aSource()
    const { statements, refused } = await planPublication(
      session,
      'pub',
      tables('bare', 'nothing', 'late', 'fast', 'v', 'parts', 'missing'),
    )
    expect(statements).toEqual([])
    expect(refused.map(({ table, reason, remedy }) => [table, reason.replace(/:.*/, ''), remedy])).toEqual([
      [
        'public.bare',
        'public.bare has no primary key and no other replica identity',
        'ALTER TABLE "public"."bare" REPLICA IDENTITY FULL',
      ],
      [
        'public.nothing',
        'public.nothing has no primary key and no other replica identity',
        'ALTER TABLE "public"."nothing" REPLICA IDENTITY FULL',
      ],
      [
        'public.late',
        'public.late has no primary key and no other replica identity',
        'ALTER TABLE "public"."late" REPLICA IDENTITY FULL',
      ],
      ['public.fast', 'public.fast is unlogged', 'ALTER TABLE "public"."fast" SET LOGGED'],
      ['public.v', 'public.v is not a table', null],
      [
        'public.parts',
        'public.parts_2 has no primary key and no other replica identity',
        'ALTER TABLE "public"."parts_2" REPLICA IDENTITY FULL',
      ],
      ['public.missing', 'The table public.missing does not exist.', null],
    ])
  })

  const GENERATED: [string, string][] = [
    ['the whole row', 'ALTER TABLE public.g REPLICA IDENTITY FULL'],
    [
      'an index with it',
      'CREATE UNIQUE INDEX g_double ON public.g (double); ALTER TABLE public.g REPLICA IDENTITY USING INDEX g_double',
    ],
    ['the primary key', ''],
    ['nothing, and no primary key', 'ALTER TABLE public.g DROP CONSTRAINT g_pkey'],
  ]

  // PostgreSQL 18 refuses them, because generated columns are not published.
  it.each(GENERATED)(
    'never makes updates of a table with a generated column fail: %s',
    async (_, identity) => {
      const session = await aSource()
      await session.run(
        `CREATE TABLE public.g (id int PRIMARY KEY, double int NOT NULL GENERATED ALWAYS AS (id * 2) STORED); INSERT INTO public.g VALUES (1); ${identity}`,
      )
      const first = await planPublication(session, 'pub', tables('g'))
      for (const { remedy } of first.refused) if (remedy !== null) await session.run(remedy)
      await applyPublication(session, await planPublication(session, 'pub', tables('g')))
      await session.run('UPDATE public.g SET id = 2; DELETE FROM public.g')
      const isRefusedByServer = identity.includes('IDENTITY') && inject('server').major >= 18
      expect(first.refused).toEqual(
        isRefusedByServer
          ? [
              {
                table: 'public.g',
                reason:
                  'The replica identity of public.g contains a generated column, which is not published: once published, every UPDATE and DELETE on it would fail.',
                remedy: 'ALTER TABLE "public"."g" REPLICA IDENTITY DEFAULT',
              },
            ]
          : identity.includes('DROP')
            ? [expect.objectContaining({ reason: expect.stringContaining('no primary key') })]
            : [],
      )
    },
  )
})

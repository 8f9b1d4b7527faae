import { expect, it } from 'vitest'
import { aDatabase } from '../support/database.js'

/** Read only the number of runs that wait, for a program that starts runners. */
const FOR_EVERYONE = ['runner_demand']

it('functions with the privileges of the administrator fix the search_path, and only the logins that need them may call them', async () => {
  const database = await aDatabase()
  const found = await database.query<{
    name: string
    path: string | null
    everyone: boolean
    trigger: boolean
  }>(
    `SELECT p.proname AS name, array_to_string(p.proconfig, ';') AS path, p.prorettype = 'trigger'::regtype AS trigger,
            EXISTS (SELECT FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
                     WHERE a.grantee = 0 AND a.privilege_type = 'EXECUTE') AS everyone
       FROM pg_proc p WHERE p.pronamespace = 'etl'::regnamespace AND p.prosecdef`,
  )
  expect(found.length).toBeGreaterThan(20)
  for (const { name, path } of found) expect([name, path]).toEqual([name, 'search_path=pg_catalog, pg_temp'])
  // PostgreSQL itself refuses to call a trigger function.
  const open = found.filter(({ everyone, trigger }) => everyone && !trigger).map(({ name }) => name)
  expect(open).toEqual(FOR_EVERYONE)
})

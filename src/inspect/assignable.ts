import type { Session } from '../postgres/session.js'
import { requireAssignable, type TargetTable } from '../sinks/postgres/target.js'

/**
 * Whether the values of the query can be assigned to the columns of the table. Tested with an empty temporary copy: the
 * inspecting login may not insert into the table itself.
 */
export async function assignableProblem(session: Session, target: TargetTable): Promise<unknown | null> {
  await session.run('BEGIN')
  try {
    await session.run(
      `CREATE TEMP TABLE vitrina_copy (LIKE ${target.quoted} INCLUDING IDENTITY INCLUDING GENERATED)`,
    )
    const [{ schema } = { schema: '' }] = await session.rows(
      'SELECT nspname AS schema FROM pg_namespace WHERE oid = pg_my_temp_schema()',
    )
    await requireAssignable(session, target, { schema: schema!, table: 'vitrina_copy' })
    return null
  } catch (error) {
    return error
  } finally {
    await session.run('ROLLBACK')
  }
}

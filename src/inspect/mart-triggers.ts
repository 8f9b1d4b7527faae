import type { TableName } from '../model/table-name.js'
import type { Session } from '../postgres/session.js'

/** Whether rows that are written to the table call triggers, apart from those of foreign keys. */
export async function hasTriggers(session: Session, { schema, table }: TableName): Promise<boolean> {
  const [row] = await session.rows(
    `SELECT EXISTS (
       SELECT FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_class c ON c.oid = t.tgrelid
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = $2 AND NOT t.tgisinternal AND t.tgenabled <> 'D')::text AS found`,
    [schema, table],
  )
  return row?.found === 'true'
}

import type { TestDatabase } from './database.js'

const SCHEMAS = ['content', 'ugc', 'auth', 'analytics', 'etl', 'public', 'archive']

/**
 * Every row of every table, all objects, privileges and sequences: equal if nothing was changed.
 * Roles without their passwords: they belong to the whole server, and a migration elsewhere gives them a new salt.
 * Settings without those of other databases, which other tests change.
 */
export async function everythingIn(
  database: TestDatabase,
  schemas: readonly string[] = SCHEMAS,
): Promise<unknown> {
  const tables = await database.query<{ name: string }>(
    `SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'm', 'S') AND n.nspname = ANY ($1) ORDER BY 1`,
    [schemas],
  )
  const rows = []
  for (const { name } of tables)
    rows.push([
      name,
      ...(await database.query(
        `SELECT md5(string_agg(t::text, '|' ORDER BY t::text)) FROM (SELECT * FROM ${name}) t`,
      )),
    ])
  const catalog = await database.query(
    `SELECT (SELECT md5(string_agg(c.oid::text || c.relname || coalesce(c.relacl::text, ''), '|' ORDER BY c.oid)) FROM pg_class c WHERE relpersistence <> 't') AS relations,
            (SELECT md5(string_agg(p.oid::text, '|' ORDER BY p.oid)) FROM pg_proc p) AS functions,
            (SELECT md5(string_agg(r::text, '|' ORDER BY r.oid)) FROM pg_roles r) AS roles,
            (SELECT count(*) FROM pg_largeobject_metadata) AS objects, (SELECT count(*) FROM pg_replication_slots) AS slots,
            (SELECT count(*) FROM pg_extension) AS extensions,
            (SELECT md5(string_agg(s::text, '|' ORDER BY s::text)) FROM pg_db_role_setting s
              WHERE s.setdatabase = 0 OR s.setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())) AS settings`,
  )
  return { rows, catalog }
}

import { VitrinaError } from '../../model/errors.js'
import { isAllowedTable, type TargetRules } from '../../model/target.js'
import type { Session } from '../../postgres/session.js'
import { quoteIdentifier, type TableName } from '../../sql/identifiers.js'

interface Descendant {
  readonly name: TableName
  readonly parent: TableName
  readonly isPartition: boolean
  readonly isForeign: boolean
}

/**
 * Throws TARGET_REFUSED if rows of the table may be stored in a table that is not an allowed target: INSERT into a
 * partitioned table writes into its partitions, and DELETE also deletes from tables that inherit from it. PostgreSQL
 * checks only the privileges on the parent, so the privileges of the login do not prevent either. A foreign table is
 * refused whatever its name is: what it stores on another server is not committed together with the checkpoint.
 */
export async function requireStoredInTargets(
  session: Session,
  oid: string,
  rules: Pick<TargetRules, 'tables'>,
): Promise<void> {
  for (const { name, parent, isPartition, isForeign } of await descendantsOf(session, oid)) {
    if (!isForeign && isAllowedTable(name, rules)) continue
    const relation = `${isPartition ? 'a partition of' : 'inherits from'} ${shown(parent)}`
    throw isForeign
      ? new VitrinaError(
          'TARGET_REFUSED',
          `${shown(name)} is a foreign table and ${isPartition ? `is ${relation}` : relation}: rows of the mart would be written on another server.`,
          'Choose a target that is stored in one database, or detach the foreign table.',
        )
      : new VitrinaError(
          'TARGET_REFUSED',
          `${shown(name)} ${isPartition ? `is ${relation}` : relation} and is not an allowed target (allowed: ${rules.tables.join(', ')}).`,
          'Choose another target, move the table into an allowed schema, or ask an administrator to extend ALLOWED_TARGET_TABLES.',
        )
  }
}

/** Every table below the table, at any depth. UNION, not UNION ALL: a table may inherit from several others. */
async function descendantsOf(session: Session, oid: string): Promise<Descendant[]> {
  const rows = await session.rows(
    `WITH RECURSIVE below AS (
       SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhparent = $1::oid
       UNION SELECT i.inhrelid, i.inhparent FROM pg_catalog.pg_inherits i JOIN below b ON b.inhrelid = i.inhparent)
     SELECT n.nspname AS schema, c.relname AS table, pn.nspname AS parent_schema, p.relname AS parent_table,
            c.relispartition::text AS is_partition, (c.relkind = 'f')::text AS is_foreign
       FROM below b
       JOIN pg_catalog.pg_class c ON c.oid = b.inhrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
       JOIN pg_catalog.pg_class p ON p.oid = b.inhparent JOIN pg_catalog.pg_namespace pn ON pn.oid = p.relnamespace
      ORDER BY 1, 2`,
    [oid],
  )
  return rows.map((row) => ({
    name: { schema: row.schema!, table: row.table! },
    parent: { schema: row.parent_schema!, table: row.parent_table! },
    isPartition: row.is_partition === 'true',
    isForeign: row.is_foreign === 'true',
  }))
}

const PLAIN = /^[a-z_][a-z0-9_]*$/

/** Without quotes where SQL needs none. */
function shown({ schema, table }: TableName): string {
  return [schema, table].map((part) => (PLAIN.test(part) ? part : quoteIdentifier(part))).join('.')
}

import type { Session } from '../../postgres/session.js'
import { quoteTable, type TableName } from '../../sql/identifiers.js'

interface UniqueIndex {
  readonly isPrimary: boolean
  /** Loose: equal values may have different bytes. */
  readonly columns: readonly { readonly name: string; readonly loose: boolean }[]
}

/** Those that ON CONFLICT can use, the primary key first. */
export async function uniqueIndexes(session: Session, name: TableName): Promise<UniqueIndex[]> {
  // Support function 4 of an operator class guarantees that equal values have equal bytes, if the collation does too.
  const rows = await session.rows(
    `SELECT i.indisprimary::text AS is_primary, (SELECT json_agg(json_build_object('name', a.attname, 'loose',
                  NOT coalesce(co.collisdeterministic, true) OR NOT EXISTS (
                    SELECT FROM pg_opclass o JOIN pg_amproc p ON p.amprocfamily = o.opcfamily AND p.amproclefttype = o.opcintype
                     WHERE o.oid = k.class AND p.amprocrighttype = o.opcintype AND p.amprocnum = 4)) ORDER BY k.n)::text
              FROM unnest(i.indkey::int2[], i.indclass::oid[], i.indcollation::oid[]) WITH ORDINALITY AS k(attnum, class, "collation", n)
              JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum LEFT JOIN pg_collation co ON co.oid = k."collation"
             WHERE k.n <= i.indnkeyatts) AS columns
       FROM pg_index i WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indimmediate
      ORDER BY i.indisprimary DESC`,
    [quoteTable(name)],
  )
  return rows.map((row) => ({
    isPrimary: row.is_primary === 'true',
    columns: JSON.parse(row.columns!) as UniqueIndex['columns'],
  }))
}

/**
 * Types of pg_catalog that a query may name. Missing are those that look up tables, functions or roles by name
 * (regclass and its kin, all but the text search ones) and those of the server's inside. The server writes
 * jsonb_build_object('a', NULL) with NULL::unknown.
 */
const NAMES = `bit bool box bpchar bytea char cid cidr circle date datemultirange daterange float4 float8 inet int2 int4
  int4multirange int4range int8 int8multirange int8range interval json jsonb jsonpath line lseg macaddr macaddr8 money
  name numeric nummultirange numrange oid path pg_lsn point polygon record regconfig regdictionary text tid time
  timestamp timestamptz timetz tsmultirange tsquery tsrange tstzmultirange tstzrange tsvector unknown uuid varbit
  varchar xid xid8 xml`

const TYPES: ReadonlySet<string> = new Set(NAMES.split(/\s+/))

/** `_text` is how the catalog calls text[]. */
export function isKnownType(name: string): boolean {
  return TYPES.has(name) || (name.startsWith('_') && TYPES.has(name.slice(1)))
}

/** The sampling methods that PostgreSQL has without an extension. */
export const SAMPLING: ReadonlySet<string> = new Set(['system', 'bernoulli'])

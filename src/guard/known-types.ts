/**
 * Types of pg_catalog that a query may name. Excluded are types that look up tables, functions or roles by name
 * (regclass and similar, except those for text search) and internal types. The server writes
 * jsonb_build_object('a', NULL) with NULL::unknown.
 */
const NAMES = `bit bool box bpchar bytea char cid cidr circle date datemultirange daterange float4 float8 inet int2 int4
  int4multirange int4range int8 int8multirange int8range interval json jsonb jsonpath line lseg macaddr macaddr8 money
  name numeric nummultirange numrange oid path pg_lsn point polygon record regconfig regdictionary text tid time
  timestamp timestamptz timetz tsmultirange tsquery tsrange tstzmultirange tstzrange tsvector unknown uuid varbit
  varchar xid xid8 xml`

const TYPES: ReadonlySet<string> = new Set(NAMES.split(/\s+/))

/** `_text` is the catalog's name for text[]. */
export function isKnownType(name: string): boolean {
  return TYPES.has(name) || (name.startsWith('_') && TYPES.has(name.slice(1)))
}

/** The sampling methods that are built into PostgreSQL. */
export const SAMPLING: ReadonlySet<string> = new Set(['system', 'bernoulli'])

/** Type, then its values as SQL; NULL is added to each. `asIs`: whose text says more than a value of the language can. */
export const TYPES: readonly { type: string; values: readonly string[]; asIs?: readonly string[] }[] = [
  { type: 'boolean', values: ['true', 'false'] },
  { type: 'smallint', values: ['-32768', '0'] },
  { type: 'integer', values: ['-2147483648', '7'] },
  { type: 'bigint', values: ['-9223372036854775808', '9223372036854775807', '9007199254740993'] },
  {
    type: 'numeric',
    values: [
      '1.0',
      '1.50',
      '0.0000001',
      "'NaN'",
      "'Infinity'",
      "'-Infinity'",
      `${'9'.repeat(300)}.${'1'.repeat(200)}`,
    ],
  },
  { type: 'numeric(12,4)', values: ['1.5', '-99999999.9999'] },
  { type: 'real', values: ["'NaN'", "'-Infinity'", "'-0'", "'1e-45'", '0.1', '3.4028235e38', '1e-05'] },
  {
    type: 'double precision',
    values: ["'NaN'", "'Infinity'", "'-0'", "'5e-324'", '0.1', '1e20', '1e-05', '123456789.123456789'],
  },
  {
    type: 'text',
    values: [
      "E'tab\\there'",
      "E'line\\nbreak\\r\\n'",
      "E'back\\\\slash \\\\N'",
      "'\\N'",
      "'\\.'",
      "''",
      "'NULL'",
      "'  x '",
      "'🚀 Ж\u2028'",
      "E'\\x01\\b\\v\\f\\x7f'",
    ],
  },
  { type: 'character varying(30)', values: ["'abc  '", "''"] },
  { type: 'character(8)', values: ["'ab'", "''"] },
  { type: 'bytea', values: ["'\\x'", "'\\x00ff5c0a09'", "decode(repeat('5c', 5000), 'hex')"] },
  {
    type: 'date',
    values: [
      "'2024-02-29'",
      "'0044-03-15 BC'",
      "'infinity'",
      "'-infinity'",
      "'5874897-12-31'",
      "'10000-01-01'",
    ],
  },
  { type: 'time without time zone', values: ["'00:00:00.000001'", "'24:00:00'", "'10:00:00.5'"] },
  {
    type: 'time with time zone',
    values: ["'12:00:00.12-15:59'", "'12:00+05:30'", "'10:00+00'", "'24:00:00+00'"],
  },
  {
    type: 'timestamp without time zone',
    values: [
      "'2024-02-29 23:59:59.999999'",
      "'4713-01-01 00:00:00 BC'",
      "'infinity'",
      "'12024-01-01 00:00:00'",
      "'0001-01-01 00:00:00'",
    ],
  },
  {
    type: 'timestamp with time zone',
    values: [
      "'2024-03-31 02:30:00.12+02'",
      "'0001-01-01 00:00:00.000001+00 BC'",
      "'-infinity'",
      "'9999-12-31 23:59:59.999999+00'",
      "'2024-01-01 00:00:00+00'",
    ],
  },
  { type: 'interval', values: ["'1 year -2 months 3 days -04:05:06.789'", "'-178000000 years'", "'0'"] },
  {
    type: 'json',
    values: [],
    asIs: [
      `'{"a": 1,  "a":2, "b" : [ 1,2 ]}'`,
      `'"\\u0041\\n"'`,
      "'null'",
      "'1.0'",
      "'-0'",
      `'"\\ud800"'`,
      "'1e400'",
    ],
  },
  {
    type: 'jsonb',
    values: [`'{"b":[null,"\\u00e9", true],"a":{}}'`, "'null'", "'[]'", `'"text"'`, "'5'"],
    asIs: [
      `'{"n":1.00, "big": 123456789012345678901234567890.5}'`,
      "'1.0'",
      "'1e300'",
      `repeat('[', 3000)::text || repeat(']', 3000)`,
    ],
  },
  { type: 'uuid', values: ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"] },
  { type: 'inet', values: ["'192.168.0.1/24'"] },
  { type: 'point', values: ["'(1.5,-0)'"] },
  { type: 'int4range', values: ["'[1,5)'", "'empty'"] },
  { type: 'xml', values: ['\'<a b="1">x</a>\''] },
  { type: 'integer[]', values: ["'{}'", "'{{1,NULL},{3,4}}'"], asIs: ["'[0:1][-2:-1]={{1,2},{3,4}}'"] },
  { type: 'text[]', values: [`ARRAY[NULL, 'NULL', '', 'a,b', '{x}', '"', E'\\\\', E'\\n\\t', ' ']`, "'{}'"] },
  { type: 'numeric[]', values: ["'{1.0,1.00,NaN,NULL}'"] },
  { type: 'timestamp with time zone[]', values: ['\'{infinity,"2024-01-01 00:00:00.000001+00"}\''] },
  { type: 'bytea[]', values: [`ARRAY['\\x00'::bytea, '\\x5c'::bytea, NULL]`] },
  { type: 'jsonb[]', values: [`ARRAY['{"a":[1,2]}'::jsonb, NULL, 'null'::jsonb, '[1]'::jsonb]`] },
  { type: 'box[]', values: [], asIs: [`ARRAY['(3,4),(1,2)'::box]`] },
  { type: 'content.mood', values: [`'so, "so"'`] },
  { type: 'content.mood[]', values: [`ARRAY['happy', NULL, 'so, "so"']::content.mood[]`] },
]

/** Functions that return what they get: as it is, as copies, and as other objects with the same values. */
export const PASS_ON = `
from vitrina import task
from datetime import date, datetime, time
from decimal import Decimal
from uuid import UUID

@task("py_copies")
def py_copies(rows):
    return [dict(row) for row in reversed(rows)]

def fresh(value):
    """The same value as another object."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        return Decimal(value.as_tuple())
    if isinstance(value, (date, time)):
        return value.replace()
    if isinstance(value, UUID):
        return UUID(int=value.int)
    if isinstance(value, bytes):
        return bytes(bytearray(value))
    if isinstance(value, list):
        return [fresh(one) for one in value]
    if isinstance(value, dict):
        return {key: fresh(one) for key, one in value.items()}
    if isinstance(value, str):
        return (value + "x")[:-1]
    if isinstance(value, float):
        return float(repr(value))
    return value

@task("py_fresh")
def py_fresh(rows):
    return [{name: fresh(value) for name, value in row.items()} for row in rows]

@task("py_types")
def py_types(rows):
    print(*[type(value).__name__ for value in rows[0].values()])
    return rows
`

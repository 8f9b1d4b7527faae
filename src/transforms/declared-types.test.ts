import { describe, expect, it } from 'vitest'
import { declaredType, oidOf } from './declared-types.js'

describe('a declared type', () => {
  it.each([
    ['text', 'text', 25],
    ['INT', 'integer', 23],
    ['int8', 'bigint', 20],
    ['timestamptz', 'timestamp with time zone', 1184],
    ['timestamptz(3)', 'timestamp(3) with time zone', 1184],
    ['timestamp without time zone', 'timestamp without time zone', 1114],
    ['varchar ( 20 )', 'character varying(20)', 1043],
    ['numeric(10, 2)', 'numeric(10,2)', 1700],
    ['decimal', 'numeric', 1700],
    ['text[]', 'text[]', 0],
    ['int4[][]', 'integer[]', 0],
    ['content.mood', 'content.mood', 0],
    ['"My Schema"."Mood"', '"My Schema"."Mood"', 0],
  ])('%s is %s', (text, type, oid) => {
    expect(declaredType(text)).toBe(type)
    expect(oidOf(type)).toBe(oid)
  })

  it.each([
    '',
    'text)',
    'text; DROP TABLE x',
    'text NOT NULL DEFAULT (1)',
    "text COLLATE 'x'",
    'text--',
    '1',
  ])('is never %j', (text) => expect(declaredType(text)).toBeNull())
})

import { describe, expect, it } from 'vitest'
import type { Message, Relation } from './decoder.js'
import { TransactionBuilder, type TransactionLimits } from './transaction-builder.js'

function relation(table: string, identity = 'd'): Relation {
  const columns = [
    { name: 'id', isKey: true },
    { name: 'g', isKey: identity === 'f' },
  ]
  return { name: `public.${table}`, identity, columns }
}

function insert(table: string, id: string): Message {
  return { tag: 'insert', relation: relation(table), next: [Buffer.from(id), Buffer.from('1')] }
}

function build(messages: readonly Message[], limits: TransactionLimits) {
  const builder = new TransactionBuilder(() => new Map(), limits)
  builder.add({ tag: 'begin', xid: 7 })
  for (const message of messages) builder.add(message)
  return builder.add({ tag: 'commit', end: 100n, stamp: 0n })!
}

describe('a transaction', () => {
  it('lists its changes up to the limit of one table', () => {
    const { changes } = build([insert('a', '1'), insert('a', '2')], { changesPerTable: 2, bytes: 1e6 })
    expect(changes).toEqual([
      { relation: 'public.a', op: 'I', old: null, new: { id: '1' } },
      { relation: 'public.a', op: 'I', old: null, new: { id: '2' } },
    ])
  })

  it('above it, names the table once and keeps the changes of the others', () => {
    const messages = [
      insert('a', '1'),
      insert('b', '1'),
      insert('a', '2'),
      insert('a', '3'),
      insert('b', '2'),
    ]
    const { changes } = build(messages, { changesPerTable: 2, bytes: 1e6 })
    expect(changes.map(({ relation, op }) => `${op} ${relation}`)).toEqual([
      'T public.a',
      'I public.b',
      'I public.b',
    ])
  })

  it('does not need further rows of a table above its limit, until it ends', () => {
    const builder = new TransactionBuilder(() => new Map(), { changesPerTable: 1, bytes: 1e6 })
    const isNeeded = () => ['a', 'b'].map((table) => builder.isNeeded(relation(table)))
    expect(isNeeded()).toEqual([true, true])
    builder.add({ tag: 'begin', xid: 7 })
    for (const id of ['1', '2']) builder.add(insert('a', id))
    expect(isNeeded()).toEqual([false, true])
    builder.add({ tag: 'commit', end: 100n, stamp: 0n })
    expect(isNeeded()).toEqual([true, true])
  })

  it('names every table once when it takes too much memory, and then takes none', () => {
    const messages = Array.from({ length: 1_000 }, (_, n) => insert(n % 2 ? 'a' : 'b', String(n)))
    const { changes, bytes } = build(messages, { changesPerTable: 1e6, bytes: 10_000 })
    expect(changes.map(({ relation, op }) => `${op} ${relation}`).sort()).toEqual([
      'T public.a',
      'T public.b',
    ])
    expect(bytes).toBeLessThan(1_000)
  })

  it('leaves out values that are too long or not UTF-8', () => {
    const next = [Buffer.from('x'.repeat(9_000)), Buffer.from([0xff, 0xfe])]
    const needs = new Map([['public.a', new Set(['g'])]])
    const builder = new TransactionBuilder(() => needs)
    builder.add({ tag: 'begin', xid: 1 })
    builder.add({ tag: 'insert', relation: relation('a'), next })
    expect(builder.add({ tag: 'commit', end: 1n, stamp: 0n })!.changes).toEqual([
      { relation: 'public.a', op: 'I', old: null, new: {} },
    ])
  })
})

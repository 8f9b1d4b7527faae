import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { toWire } from './to-wire.js'

const wire = z.object({ run_id: z.string(), rows_read: z.number().nullable(), state: z.string() })

describe('a response', () => {
  it('has the fields of its schema, in the order of the schema', () => {
    const run = { rowsRead: null, runId: 'a', state: 'held' }
    expect(JSON.stringify(toWire(wire, run))).toBe('{"run_id":"a","rows_read":null,"state":"held"}')
  })

  it('prefers a given value to the property of the same name, even if it is null', () => {
    const run = { runId: 'a', rowsRead: 3, state: 'held' }
    expect(toWire(wire, run, { state: 'free', rows_read: null })).toMatchObject({
      rows_read: null,
      state: 'free',
    })
  })

  it('leaves out what its schema does not have', () => {
    const stored = { runId: 'a', rowsRead: 3, state: 'held', token: 'secret' }
    expect(Object.keys(toWire(wire, stored))).toEqual(['run_id', 'rows_read', 'state'])
  })
})

import { describe, expect, it } from 'vitest'
import { aPipeline } from '../../../tests/support/builders.js'
import { aDatabase } from '../../../tests/support/database.js'
import { toFailure } from './failure.js'

describe('toFailure', () => {
  it('returns a conflict for a transition that the database rejects, with its message', async () => {
    const database = await aDatabase()
    const { id, spec } = await aPipeline(database)
    const refusal = await database
      .query("UPDATE etl.etl_pipelines SET status = 'PAUSED' WHERE id = $1", [id])
      .catch((error) => error)
    const { status, error } = toFailure(refusal)
    expect([status, error.code, error.sqlstate]).toEqual([409, 'TRANSITION_REFUSED', 'VT001'])
    expect(error.message).toBe(`Pipeline "${spec.name}" cannot move from IDLE to PAUSED.`)
    expect(error.hint).toContain('Allowed:')
  })

  it.each([
    ['55P03', 503, 'DATABASE_ERROR'],
    ['57014', 503, 'DATABASE_ERROR'],
    ['VT004', 422, 'TASK_PLAN_INVALID'],
    ['28P01', 503, 'DATABASE_UNAVAILABLE'],
    ['42P01', 503, 'MIGRATION_MISSING'],
    ['22P02', 422, 'REQUEST_INVALID'],
    ['42501', 500, 'INTERNAL'],
  ])('maps SQLSTATE %s to %i %s', (code, status, name) => {
    const failure = toFailure(Object.assign(new Error('no'), { code }))
    expect([failure.status, failure.error.code]).toEqual([status, name])
  })

  it('reveals nothing about an unexpected error', () => {
    for (const thrown of [new TypeError('x is not a function'), 'text', null, undefined]) {
      const { status, error } = toFailure(thrown)
      expect([status, error.code]).toEqual([500, 'INTERNAL'])
      expect(error.message).not.toContain('x is not')
    }
  })
})

import { expect, it } from 'vitest'
import { changesOf, factsOf, isMoment } from './audit-facts.js'

const change = { old: 1, new: 2 }

it('separates changes from other details', () => {
  const entry = { action: 'pipeline.restore', diff: { batch_size: change, reset: true, none: null } }
  expect(changesOf(entry)).toEqual({ batch_size: change })
  expect(factsOf(entry)).toEqual([['reset', 'true']])
})

it('does not treat the configuration of a new pipeline as a change', () => {
  expect(changesOf({ action: 'pipeline.create', diff: { name: { old: null, new: 'films' } } })).toEqual({})
})

it('recognizes times in the format of the API', () => {
  expect(['2026-11-15T11:49:38.357047Z', '2026-11-15', 'films'].map(isMoment)).toEqual([true, false, false])
})

import { expect, it } from 'vitest'
import { readOptions } from './config.js'

it('names every wrong option of a target, also an unknown one', () => {
  expect(readOptions({ keep_hours: 'long', foo: 1 })).toEqual({
    problems: [
      { field: 'keep_hours', message: 'must be a number' },
      { field: 'foo', message: 'is not an option of s3: targets' },
    ],
  })
})

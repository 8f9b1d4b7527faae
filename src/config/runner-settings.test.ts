import { describe, expect, it } from 'vitest'
import { connectionLimits, readSettings, runnerConcurrency } from './settings.js'

describe('RUNNER_TAGS and CONNECTION_LIMITS', () => {
  it('are numbers by name', () => {
    const settings = readSettings({ RUNNER_TAGS: 'heavy:1, reports:2,*:4', CONNECTION_LIMITS: 'main:20' })
    expect(settings.RUNNER_TAGS).toEqual({ heavy: 1, reports: 2, '*': 4 })
    expect(settings.CONNECTION_LIMITS).toEqual({ main: 20 })
    expect(readSettings({}).RUNNER_TAGS).toBeUndefined()
    expect(connectionLimits(readSettings({}))).toEqual({})
  })

  it.each([
    ['RUNNER_TAGS', 'heavy'],
    ['RUNNER_TAGS', 'heavy:'],
    ['RUNNER_TAGS', 'heavy:x'],
    ['RUNNER_TAGS', 'heavy:-1'],
    ['RUNNER_TAGS', 'heavy:1:2'],
    ['RUNNER_TAGS', 'Heavy:1'],
    ['RUNNER_TAGS', 'a b:1'],
    ['RUNNER_TAGS', 'heavy:1,heavy:2'],
    ['CONNECTION_LIMITS', 'main:0'],
    ['CONNECTION_LIMITS', 'main'],
  ])('rejects %s=%s and names the setting', (name, value) => {
    expect(() => readSettings({ [name]: value })).toThrow(new RegExp(`^${name} (must be|has)`))
  })

  it('a runner has as many slots as its tags unless RUNNER_CONCURRENCY is set', () => {
    const RUNNER_TAGS = 'heavy:1,light:0,*:6'
    expect(runnerConcurrency(readSettings({}))).toBe(4)
    expect(runnerConcurrency(readSettings({ RUNNER_TAGS }))).toBe(7)
    expect(runnerConcurrency(readSettings({ RUNNER_TAGS, RUNNER_CONCURRENCY: '3' }))).toBe(3)
    expect(runnerConcurrency(readSettings({ RUNNER_TAGS: '*:9999' }))).toBe(64)
  })
})

import { describe, expect, it } from 'vitest'
import { readSettings } from './settings.js'
import { readSparkProfiles } from './spark-profiles.js'

function mistakesIn(profiles: unknown): string[] {
  const mistakes: string[] = []
  readSparkProfiles({ SPARK_PROFILES: JSON.stringify(profiles) }, mistakes)
  return mistakes
}

describe('SPARK_PROFILES', () => {
  it('has defaults for everything but the master', () => {
    const { sparkProfiles } = readSettings({
      SPARK_PROFILES: '{"cluster": {"master": "spark://spark:7077"}}',
    })
    expect([...sparkProfiles]).toEqual([
      ['cluster', { master: 'spark://spark:7077', submit: 'spark-submit', conf: {} }],
    ])
    expect(readSettings({}).sparkProfiles.size).toBe(0)
  })

  it('accepts numbers and booleans as values of conf', () => {
    const { sparkProfiles } = readSettings({
      SPARK_PROFILES:
        '{"a": {"master": "local[2]", "conf": {"spark.executor.cores": 2, "spark.speculation": true}}}',
    })
    expect(sparkProfiles.get('a')?.conf).toEqual({ 'spark.executor.cores': '2', 'spark.speculation': 'true' })
  })

  it.each([
    ['not an object', [1], /must be a JSON object of name/],
    ['without a master', { a: {} }, /profile a is invalid: master /],
    ['with a misspelled field', { a: { master: 'x', config: {} } }, /profile a is invalid: .*config/],
    ['with another conf', { a: { master: 'x', conf: { 'hive.x': 'y' } } }, /spark\.executor\.memory/],
    [
      'with a driver elsewhere',
      { a: { master: 'x', conf: { 'spark.submit.deployMode': 'cluster' } } },
      /client mode/,
    ],
    ['with a name that a pipeline cannot have', { 'A b': { master: 'x' } }, /the profile name "A b" must/],
  ])('is rejected: %s', (_what, profiles, message) => {
    expect(mistakesIn(profiles).join()).toMatch(message)
  })

  it('is not quoted in a message, because it may contain a secret', () => {
    const secret = 'hush-hush'
    expect(
      mistakesIn({ a: { master: '', conf: { 'spark.authenticate.secret': [secret] } } }).join(),
    ).not.toContain(secret)
    const mistakes: string[] = []
    readSparkProfiles({ SPARK_PROFILES: `{"a": ${secret}` }, mistakes)
    expect(mistakes.join()).toMatch(/^SPARK_PROFILES must be a JSON object/)
  })
})

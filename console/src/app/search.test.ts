import { describe, expect, it } from 'vitest'
import { readLineageSearch } from '../screens/lineage/search.js'
import { readPipelinesSearch } from '../screens/pipelines/search.js'
import { readQualitySearch } from '../screens/quality/search.js'
import { readQuarantineSearch } from '../screens/quarantine/search.js'
import { readRunSearch } from '../screens/run/search.js'
import { readAuditSearch } from '../screens/settings/search.js'

const READERS = {
  quality: ['q', readQualitySearch],
  pipelines: ['q', readPipelinesSearch],
  run: ['q', readRunSearch],
  audit: ['who', readAuditSearch],
  lineage: ['node', readLineageSearch],
  quarantine: ['row', readQuarantineSearch],
} as const

describe.each(Object.entries(READERS))('the filter of %s', (_screen, [field, read]) => {
  const readField = (value: unknown) => (read({ [field]: value }) as Record<string, unknown>)[field]

  it('keeps digits, both as text and as a parsed number', () => {
    expect([readField('123'), readField(123), readField('007'), readField(0)]).toEqual([
      '123',
      '123',
      '007',
      '0',
    ])
  })

  it('is unset when it is empty, missing or not a text', () => {
    expect([undefined, null, '', {}, ['a'], true].map(readField)).toEqual(Array(6).fill(undefined))
  })
})

import { describe, expect, it } from 'vitest'
import type { Pipeline } from '../../model/pipeline.js'
import type { SinkKind } from '../../ports/sink.js'
import { chooseRoute } from './choose-route.js'

const sink = {
  kind: 'files',
  prefix: 'files:',
  allowList: { setting: 'ALLOWED_FILES', names: ['mart_*'] },
} as unknown as SinkKind

const targets = { tables: ['analytics.*'], kinds: [sink] }

function aPipeline(changes: Partial<Pipeline>): Pipeline {
  const connections = { sourceConnection: null, targetConnection: null }
  return { targetTable: 'analytics.mart', tasks: [], ...connections, ...changes } as unknown as Pipeline
}

const transform = [
  { taskType: 'SQL', body: 'SELECT 1', targetTable: null },
  { taskType: 'PYTHON', body: 'clean', targetTable: null },
] as unknown as Pipeline['tasks']

describe('the route of a pipeline', () => {
  it.each([
    ['pushdown', 'within one database', {}],
    ['pushdown', 'within one named database', { sourceConnection: 'dwh', targetConnection: 'dwh' }],
    ['relay', 'from one database to another', { targetConnection: 'dwh' }],
    ['rows', 'with transforms', { tasks: transform }],
    ['rows', 'into a sink', { targetTable: 'files:mart_1' }],
  ] as const)('is %s %s', (way, _case, changes) => {
    const isSink = 'targetTable' in changes
    expect(chooseRoute(aPipeline(changes), targets)).toEqual({ way, sink: isSink ? sink : null })
  })

  it('is the forced one, unless only rows are possible', () => {
    expect(chooseRoute(aPipeline({}), targets, 'relay').way).toBe('relay')
    expect(chooseRoute(aPipeline({}), targets, 'rows').way).toBe('rows')
    expect(chooseRoute(aPipeline({ tasks: transform }), targets, 'pushdown').way).toBe('rows')
  })

  it.each([
    ['public.mart', 'analytics.*', 'ALLOWED_TARGET_TABLES'],
    ['files:other', 'files:mart_*', 'ALLOWED_FILES'],
  ])('is refused for %s with what is allowed and the setting to change', (targetTable, allowed, setting) => {
    const choose = () => chooseRoute(aPipeline({ targetTable }), targets)
    expect(choose).toThrow(
      expect.objectContaining({
        code: 'TARGET_REFUSED',
        message: `"${targetTable}" is not an allowed target (allowed: ${allowed}).`,
        hint: expect.stringContaining(setting),
      }),
    )
  })
})

import { describe, expect, it } from 'vitest'
import { readYaml } from './read-yaml.js'

describe('YAML of pipelines', () => {
  it('is one pipeline, several documents, or a list', () => {
    const { pipelines, mistakes } = readYaml(`
apiVersion: vitrina/v1
name: one
key_columns: [id]
---
pipelines:
  - name: two
    batch_size: 500
  - { name: three }
---
`)
    expect(mistakes).toEqual([])
    expect(pipelines).toEqual([
      { name: 'one', fields: { name: 'one', key_columns: ['id'] } },
      { name: 'two', fields: { name: 'two', batch_size: 500 } },
      { name: 'three', fields: { name: 'three' } },
    ])
  })

  it('does not ignore notification rules, which only the command can apply', () => {
    const { pipelines, mistakes } = readYaml('name: one\n---\npipelines: []\nnotifications: []\n')
    expect(pipelines.map(({ name }) => name)).toEqual(['one'])
    expect(mistakes).toEqual([{ kind: 'rules', line: 3, what: '' }])
  })

  it('reports every mistake with its line, and reads the rest', () => {
    const { pipelines, mistakes } = readYaml(
      [
        'name: [',
        '- a',
        'description: x',
        'name: a\nsource_query_file: a.sql',
        'name: b\ntarget_table: $' + '{env:T}',
        'name: c',
      ].join('\n---\n'),
    )
    expect(pipelines.map(({ name }) => name)).toEqual(['c'])
    expect(mistakes.map(({ kind, line, what }) => [kind, line, kind === 'syntax' ? '' : what])).toEqual([
      ['syntax', 2, ''],
      ['shape', 3, ''],
      ['nameless', 5, ''],
      ['elsewhere', 7, 'source_query_file'],
      ['elsewhere', 10, 'target_table'],
    ])
  })

  it('reports aliases with unbounded expansion as a mistake', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let n = 1; n < 10; n++)
      lines.push(
        `a${n}: &a${n} [${Array(9)
          .fill(`*a${n - 1}`)
          .join(', ')}]`,
      )
    const { pipelines, mistakes } = readYaml(lines.join('\n'))
    expect(pipelines).toEqual([])
    expect(mistakes).toEqual([{ kind: 'syntax', line: 1, what: expect.stringContaining('alias') }])
  })
})

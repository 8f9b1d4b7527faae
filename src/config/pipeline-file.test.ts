import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { JsonSchema } from './json-schema.js'
import { readPipelineFile } from './pipeline-file.js'
import { readPipelineSchema } from './pipeline-schema.js'
import { toYaml } from './pipeline-yaml.js'
import { SourceText } from './source-text.js'

const schema: JsonSchema = readPipelineSchema(
  fileURLToPath(new URL('../../schemas/pipeline.schema.json', import.meta.url)),
)
const read = (text: string) => readPipelineFile(new SourceText('p.yaml', text), schema)
const told = async (text: string) =>
  (await read(text)).mistakes.map(({ place, message }) => `${place.line}:${place.column} ${message}`)

describe('a file of pipelines', () => {
  it.each([
    ['one mapping', 'apiVersion: vitrina/v1\nname: a\ntarget_table: t.a\n', ['a']],
    [
      'a list',
      'pipelines:\n  - {name: a, target_table: t.a}\n  - {name: b, target_table: t.b}\n',
      ['a', 'b'],
    ],
    ['several documents', 'name: a\ntarget_table: t.a\n---\nname: b\ntarget_table: t.b\n---\n', ['a', 'b']],
    ['nothing', '# empty\n', []],
  ])('can be %s', async (_, text, names) => {
    const { pipelines, mistakes } = await read(text)
    expect(mistakes).toEqual([])
    expect(pipelines.map(({ name }) => name)).toEqual(names)
  })

  it.each([
    ['an unknown field', 'name: a\ntarget: t.a\ntarget_table: t.a\n', ['2:1 unknown field "target".']],
    [
      'a wrong version',
      'apiVersion: vitrina/v2\nname: a\ntarget_table: t.a\n',
      ['1:13 apiVersion must be "vitrina/v1"'],
    ],
    [
      'a field inside a task',
      'name: a\ntarget_table: t.a\ntasks:\n  - {task_type: SQL, body: 5}\n',
      ['4:28 tasks.0.body must be text of 1 to 200000 characters'],
    ],
    [
      'a field given twice',
      'name: a\nname: b\ntarget_table: t.a\n',
      ['2:1 not valid YAML: Map keys must be unique'],
    ],
    [
      'a list at the top',
      '- name: a\n',
      ['1:1 must be a mapping: a pipeline, or a list of them under "pipelines:"'],
    ],
    ['pipelines that are no list', 'pipelines: 5\n', ['1:12 must be a list']],
  ])('is told %s with its place', async (_, text, mistakes) => {
    expect(await told(text)).toEqual(mistakes)
  })

  it.each([
    ['a block', 'name: a\nsource_query: |\n    SELECT 1,\n      2\n', { line: 2, column: 3 }, '4:7'],
    ['plain text', 'name: a\nsource_query: SELECT 1\n', { line: 1, column: 8 }, '2:22'],
    ['quoted text', 'name: a\nsource_query: "SELECT 1"\n', { line: 1, column: 8 }, '2:23'],
    [
      'a folded block, whose lines are not those of the text',
      'name: a\nsource_query: >\n  SELECT\n  1\n',
      { line: 1, column: 8 },
      '2:15',
    ],
  ])('finds a place in the SQL of %s', async (_, text, position, place) => {
    const [pipeline] = (await read(text)).pipelines
    const { line, column } = pipeline!.locate('source_query', position)
    expect(`${line}:${column}`).toBe(place)
  })

  it.each([
    'SELECT 1\n',
    '  SELECT 1',
    'a\n\n\n',
    '\n a\n',
    'tab\t\n\tx',
    'a\r\nb',
    ' \n',
    'a \nb ',
    '# no comment\n: x',
    'yes',
    '---\nx',
    'a\u0085b\u2028c\nd',
    '%x\n',
  ])('gives back the text %j that was written into it', async (text) => {
    const written = toYaml({ name: 'a', target_table: 't.a', source_query: text }, schema)
    const { pipelines, mistakes } = await read(written)
    expect(mistakes).toEqual([])
    expect(pipelines[0]?.fields).toEqual({ name: 'a', target_table: 't.a', source_query: text })
  })
})

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in files look like that.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aFolder } from '../../tests/support/folders.js'
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
    '${env:HOME}',
    'a $${file:x} ${env:',
  ])('gives back the text %j that was written into it', async (text) => {
    const written = toYaml({ name: 'a', target_table: 't.a', source_query: text }, schema)
    const { pipelines, mistakes } = await read(written)
    expect(mistakes).toEqual([])
    expect(pipelines[0]?.fields).toEqual({ name: 'a', target_table: 't.a', source_query: text })
  })
})

describe('references', () => {
  it('are put in from the environment and from files, as what belongs there', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'query.sql'), 'SELECT 1 AS id\n')
    process.env.VITRINA_TEST_STAGE = 'blue'
    process.env.VITRINA_TEST_BATCH = '500'
    process.env.VITRINA_TEST_ON = 'false'
    onTestFinished(() => {
      for (const name of ['STAGE', 'BATCH', 'ON']) delete process.env[`VITRINA_TEST_${name}`]
    })
    const text = [
      'name: film_dim_${env:VITRINA_TEST_STAGE}',
      'target_table: analytics.${env:VITRINA_TEST_STAGE}_film',
      'batch_size: ${env:VITRINA_TEST_BATCH}',
      'enabled: ${env:VITRINA_TEST_ON}',
      'description: costs $${env:NOT_THIS}',
      'source_query: ${file:query.sql}',
    ].join('\n')
    const { pipelines, mistakes } = await readPipelineFile(
      new SourceText(join(folder, 'p.yaml'), text),
      schema,
    )
    expect(mistakes).toEqual([])
    expect(pipelines[0]).toMatchObject({
      name: 'film_dim_blue',
      fields: {
        target_table: 'analytics.blue_film',
        batch_size: 500,
        enabled: false,
        description: 'costs ${env:NOT_THIS}',
        source_query: 'SELECT 1 AS id',
      },
    })
  })

  it('that lead nowhere are told where they stand', async () => {
    expect(
      await told(
        'name: a\ntarget_table: ${env:VITRINA_NOBODY}\ntasks:\n  - {task_type: SQL, body: "${file:nothing.sql}"}\n',
      ),
    ).toEqual([
      '2:15 target_table: the environment variable VITRINA_NOBODY is not set',
      expect.stringMatching(/^4:28 tasks\.0\.body: the file nothing\.sql cannot be read: ENOENT/),
    ])
  })
})

describe('a password in plain sight', () => {
  it.each([
    ['an address', "source_query: SELECT * FROM x('postgres://etl:hunter2@db/shop')", '3:15 source_query'],
    [
      'the words of libpq',
      "source_query: SELECT * FROM dblink('host=db user=etl password=hunter2', 'SELECT 1')",
      '3:15 source_query',
    ],
    ['a description', 'description: see mysql://root:hunter2@db', '3:14 description'],
    ['a task', 'tasks: [{task_type: SQL, body: "x mongodb+srv://a:hunter2@h"}]', '3:32 tasks.0.body'],
  ])('is refused in %s, and not repeated', async (_, line, where) => {
    const { mistakes } = await read(`name: a\ntarget_table: t.a\n${line}\n`)
    expect(mistakes.map(({ place, message }) => `${place.line}:${place.column} ${message}`)).toEqual([
      expect.stringContaining(`${where} holds a password`),
    ])
    expect(JSON.stringify(mistakes)).not.toContain('hunter2')
  })

  it.each([
    "SELECT id FROM auth.users WHERE password = 'x' AND user = 'y'",
    "SELECT 'https://example.com/a:b@c'",
    "SELECT url FROM links WHERE url LIKE 'postgres://%@%'",
  ])('is not seen in %s', async (query) => {
    const { mistakes } = await read(toYaml({ name: 'a', target_table: 't.a', source_query: query }, schema))
    expect(mistakes).toEqual([])
  })
})

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references in files look like that.
import { execFileSync } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { aFolder } from '../../tests/support/folders.js'
import type { JsonSchema } from './json-schema.js'
import { readPipelineFile } from './pipeline-file.js'
import { readPipelineFiles } from './pipeline-files.js'
import { readPipelineSchema } from './pipeline-schema.js'
import { toYaml } from './pipeline-yaml.js'
import { SourceText } from './source-text.js'

const schema: JsonSchema = readPipelineSchema(
  fileURLToPath(new URL('../../schemas/pipeline.schema.json', import.meta.url)),
)
const read = (text: string) => readPipelineFile(new SourceText('p.yaml', text), schema)
const mistakesIn = async (text: string) =>
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
    ['pipelines that are not a list', 'pipelines: 5\n', ['1:12 must be a list']],
  ])('reports %s with its place', async (_, text, mistakes) => {
    expect(await mistakesIn(text)).toEqual(mistakes)
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
  ])('returns the text %j that was written into it', async (text) => {
    const written = toYaml({ name: 'a', target_table: 't.a', source_query: text }, schema)
    const { pipelines, mistakes } = await read(written)
    expect(mistakes).toEqual([])
    expect(pipelines[0]?.fields).toEqual({ name: 'a', target_table: 't.a', source_query: text })
  })
})

describe('references', () => {
  it('are resolved from the environment and from files, with the expected type', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'query.sql'), 'SELECT 1 AS id\n')
    process.env.FILM_STAGE = 'blue'
    process.env.FILM_BATCH = '500'
    process.env.FILM_ON = 'false'
    onTestFinished(() => {
      for (const name of ['STAGE', 'BATCH', 'ON']) delete process.env[`FILM_${name}`]
    })
    const text = [
      'name: film_dim_${env:FILM_STAGE}',
      'target_table: analytics.${env:FILM_STAGE}_film',
      'batch_size: ${env:FILM_BATCH}',
      'enabled: ${env:FILM_ON}',
      'description: costs $${env:NOT_THIS}',
      'source_query: ${file:query.sql}',
    ].join('\n')
    const { pipelines, mistakes } = await readPipelineFile(
      new SourceText(join(folder, 'p.yaml'), text),
      schema,
      { allowEnv: ['FILM_*'] },
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

  it('that cannot be resolved are reported with their place', async () => {
    expect(
      await mistakesIn(
        'name: a\ntarget_table: ${env:FILM_UNSET}\ntasks:\n  - {task_type: SQL, body: "${file:nothing.sql}"}\n',
      ),
    ).toEqual([
      '2:15 target_table: the environment variable FILM_UNSET is not allowed; add --allow-env FILM_UNSET',
      expect.stringMatching(/^4:28 tasks\.0\.body: the file nothing\.sql cannot be read: ENOENT/),
    ])
  })
})

describe('references to secrets of a deployment', () => {
  const secrets = [
    'DATABASE_URL',
    'VITRINA_API_TOKEN',
    'GITHUB_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'MY_PASSWORD',
  ]

  it.each(secrets)('are rejected for %s, even with --allow-env "*"', async (name) => {
    process.env[name] ??= 'canary-7f3a'
    onTestFinished(() => void (process.env[name] === 'canary-7f3a' && delete process.env[name]))
    const source = new SourceText('p.yaml', `name: a\ndescription: \${env:${name}}\n`)
    const { mistakes } = await readPipelineFile(source, schema, { allowEnv: ['*'] })
    expect(mistakes.map(({ message }) => message)).toEqual([
      `description: the environment variable ${name} may contain a secret and cannot be referenced`,
    ])
    expect(JSON.stringify(mistakes)).not.toContain('canary-7f3a')
  })

  it('are rejected for a variable whose name is not allowed', async () => {
    process.env.FILM_STAGE = 'canary-7f3a'
    onTestFinished(() => void delete process.env.FILM_STAGE)
    const source = new SourceText('p.yaml', 'name: ${env:FILM_STAGE}\n')
    const { mistakes } = await readPipelineFile(source, schema, { allowEnv: ['FILM', 'FIL?_*', 'ILM_*'] })
    expect(mistakes[0]?.message).toContain('is not allowed; add --allow-env FILM_STAGE')
  })

  it('are rejected for a file outside the folder of the YAML file, by any path', async () => {
    const folder = await aFolder()
    const inner = join(folder, 'pipelines')
    await mkdir(join(inner, 'sql'), { recursive: true })
    await writeFile(join(folder, 'secret.sql'), 'canary-7f3a')
    await writeFile(join(inner, 'sql', 'good.sql'), 'SELECT 1 AS id')
    await symlink('../../secret.sql', join(inner, 'sql', 'link.sql'))
    await symlink('..', join(inner, 'up'))
    await symlink('/', join(inner, 'root'))
    const escapes = [
      '../secret.sql',
      'sql/../../secret.sql',
      'sql/link.sql',
      'up/secret.sql',
      join(folder, 'secret.sql'),
      'root/etc/passwd',
      '/proc/self/environ',
      '../pipelines-2/x.sql',
    ]
    const read = (field: string) =>
      readPipelineFile(
        new SourceText(join(inner, 'p.yaml'), `name: a\ntarget_table: t.a\n${field}\n`),
        schema,
      )
    for (const path of escapes)
      for (const field of [`source_query_file: ${path}`, `source_query: \${file:${path}}`]) {
        const result = await read(field)
        expect(result.mistakes, field).toHaveLength(1)
        expect(JSON.stringify(result), field).not.toMatch(/canary-7f3a|root:/)
      }
    const good = await read(`source_query_file: ${join(inner, 'sql/good.sql')}`)
    expect(good.pipelines[0]?.fields.source_query).toBe('SELECT 1 AS id')
  })

  it('are rejected for a folder, a pipe and a file of more than 1 MiB', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'large.sql'), 'x'.repeat(1024 * 1024 + 1))
    execFileSync('mkfifo', [join(folder, 'pipe.sql')])
    for (const [path, reason] of [
      ['.', 'outside the folder'],
      ['large.sql', 'larger than 1 MiB'],
      ['pipe.sql', 'not a regular file'],
    ]) {
      const source = new SourceText(
        join(folder, 'p.yaml'),
        `name: a\ntarget_table: t.a\nsource_query_file: ${path}\n`,
      )
      const { mistakes } = await readPipelineFile(source, schema)
      expect(mistakes[0]?.message, path).toContain(reason)
    }
  })
})

describe('a file that expands without end', () => {
  it.each([
    ['aliases', bomb(), /cannot be expanded: Excessive alias count/],
    ['an alias of itself', 'name: a\ntags: &t [*t]\n', /cannot be expanded: the alias \*t refers to itself/],
    [
      'an alias of a mapping around it',
      '&a\nname: a\ntarget_options: {x: [*a]}\n',
      /the alias \*a refers to itself/,
    ],
    ['nesting', `name: ${'['.repeat(50_000)}`, /nested too deeply|not valid YAML/],
  ])('by %s is a mistake with a place', async (_, text, message) => {
    const { pipelines, mistakes } = await read(text)
    expect(pipelines).toEqual([])
    expect(mistakes[0]?.message).toMatch(message)
  })

  it('by many fields takes no time for each pair of them, and is a mistake for the first ones', async () => {
    const fields = Array.from({ length: 60_000 }, (_, n) => `k${n}: 1`)
    const began = performance.now()
    const { mistakes } = await read(`${fields.join('\n')}\nk7: 2\n`)
    expect(mistakes).toMatchObject([
      { place: { line: 60_001, column: 1 }, message: 'not valid YAML: Map keys must be unique' },
    ])
    const unknown = await read(`${fields.join('\n')}\n`)
    expect(unknown.mistakes.length).toBeLessThanOrEqual(110)
    // Each key compared with all others took 26 s on an idle machine.
    expect(performance.now() - began).toBeLessThan(20_000)
  })

  it('by many documents is a mistake for the first ones', async () => {
    const { mistakes } = await read('---\nname: a\n'.repeat(1_000))
    expect(mistakes.length).toBe(100)
  })

  it('may use the name of an anchor again inside it', async () => {
    const { pipelines } = await read('name: a\ntarget_table: t.a\ntags: &t [&t one, *t]\n')
    expect(pipelines[0]?.fields.tags).toEqual(['one', 'one'])
  })

  it('is rejected above 4 MiB', async () => {
    const file = join(await aFolder(), 'p.yaml')
    await writeFile(file, `name: a\n# ${'x'.repeat(4 * 1024 * 1024)}\n`)
    await expect(readPipelineFiles([file], schema)).rejects.toMatchObject({ code: 'FILE_INVALID' })
  })

  it('is rejected if it is a link that leads outside its folder', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, 'pipelines'))
    await writeFile(join(folder, 'secret'), 'canary-7f3a: [')
    const file = join(folder, 'pipelines', 'p.yaml')
    await symlink('../secret', file)
    await expect(readPipelineFiles([file], schema)).rejects.toMatchObject({ code: 'FILE_INVALID' })
  })

  it.each(['.git/config', '.env'])('is rejected if it is a link to %s in its own folder', async (secret) => {
    const folder = await aFolder()
    await mkdir(join(folder, '.git'))
    await writeFile(join(folder, secret), 'canary-7f3a: [')
    await symlink(secret, join(folder, 'p.yaml'))
    const reading = readPipelineFiles([join(folder, 'p.yaml')], schema)
    await expect(reading).rejects.toMatchObject({
      code: 'FILE_INVALID',
      message: expect.stringContaining('is a link to a file that is hidden'),
    })
  })

  it('may be hidden itself, and a link to a visible file beside it', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, '.mine.yaml'), 'apiVersion: vitrina/v1\nname: a\ntarget_table: t.a\n')
    await writeFile(join(folder, 'b.yaml'), 'apiVersion: vitrina/v1\nname: b\ntarget_table: t.b\n')
    await symlink('b.yaml', join(folder, 'link.yaml'))
    const { pipelines } = await readPipelineFiles(
      [join(folder, '.mine.yaml'), join(folder, 'link.yaml')],
      schema,
    )
    expect(pipelines.map(({ name }) => name)).toEqual(['a', 'b'])
  })

  function bomb(): string {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]']
    for (let n = 1; n < 10; n++)
      lines.push(
        `a${n}: &a${n} [${Array(9)
          .fill(`*a${n - 1}`)
          .join(', ')}]`,
      )
    return lines.join('\n')
  }
})

describe('a plain-text password', () => {
  it.each([
    ['an address', "source_query: SELECT * FROM x('postgres://etl:hunter2@db/shop')", '3:15 source_query'],
    [
      'a libpq connection string',
      "source_query: SELECT * FROM dblink('host=db user=etl password=hunter2', 'SELECT 1')",
      '3:15 source_query',
    ],
    ['a description', 'description: see mysql://root:hunter2@db', '3:14 description'],
    ['a task', 'tasks: [{task_type: SQL, body: "x mongodb+srv://a:hunter2@h"}]', '3:32 tasks.0.body'],
  ])('is rejected in %s, and not repeated', async (_, line, where) => {
    const { mistakes } = await read(`name: a\ntarget_table: t.a\n${line}\n`)
    expect(mistakes.map(({ place, message }) => `${place.line}:${place.column} ${message}`)).toEqual([
      expect.stringContaining(`${where} contains a password`),
    ])
    expect(JSON.stringify(mistakes)).not.toContain('hunter2')
  })

  it.each([
    "SELECT id FROM auth.users WHERE password = 'x' AND user = 'y'",
    "SELECT 'https://example.com/a:b@c'",
    "SELECT url FROM links WHERE url LIKE 'postgres://%@%'",
  ])('is not detected in %s', async (query) => {
    const { mistakes } = await read(toYaml({ name: 'a', target_table: 't.a', source_query: query }, schema))
    expect(mistakes).toEqual([])
  })
})

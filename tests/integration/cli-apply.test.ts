import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aCliStand } from '../support/cli.js'

const stand = aCliStand()
const json = (text: string) => JSON.parse(text)
const EXAMPLES = fileURLToPath(new URL('../../examples/cinema/pipelines', import.meta.url))

const GENRES = `name: genres
source_query: |-
  SELECT id,
         name
    FROM content.genre
target_table: analytics.genres
key_columns: [id]
`

describe('vitrina diff and apply', () => {
  it('find nothing to change in a demo database with the pipelines of the examples', async () => {
    const { code, stdout } = await stand().vitrina('diff', EXAMPLES, '--exit-code')
    expect(stdout).toContain('0 to create, 0 to update, 9 unchanged')
    expect(code).toBe(0)
  })

  it('create, then find it unchanged, then change exactly what the file changed', async () => {
    const { vitrina, file } = stand()
    await file('genres.yaml', GENRES)
    const planned = await vitrina('diff', 'genres.yaml', '--exit-code')
    expect(planned.code).toBe(2)
    expect(planned.stdout).toMatch(/\+ create genres\n[\s\S]*\? not in files film_dim_full/)
    expect((await vitrina('apply', 'genres.yaml', '--yes')).stdout).toContain('✓ created genres')
    const again = await vitrina('apply', 'genres.yaml')
    expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('= unchanged genres') })

    await file(
      'genres.yaml',
      GENRES.replace('         name', '         upper(name) AS name').concat('batch_size: 50\n'),
    )
    const changed = await vitrina('diff', 'genres.yaml')
    expect(changed.code).toBe(0)
    expect(changed.stdout).toContain('~ update genres')
    expect(changed.stdout).toMatch(/-\s+name\n\s+\+\s+upper\(name\) AS name\n/)
    expect(changed.stdout).toContain('batch_size: auto → 50')
    const plan = json((await vitrina('diff', 'genres.yaml', '--json')).stdout)
    expect(plan.update[0].changes).toContainEqual({ field: 'batch_size', old: 'auto', new: 50 })
    expect((await vitrina('apply', 'genres.yaml', '--dry-run')).code).toBe(0)
    expect((await vitrina('apply', 'genres.yaml', '--yes')).stdout).toContain('✓ updated genres')
    expect((await vitrina('diff', 'genres.yaml', '--exit-code')).code).toBe(0)
  })

  it('refuse a check that reads a forbidden table, before anything is changed', async () => {
    const { vitrina, file } = stand()
    const check = '{name: known, type: relationship, column: id, to: auth.users, on_failure: warn}'
    await file('related.yaml', `${GENRES.replaceAll('genres', 'related')}checks:\n  - ${check}\n`)
    for (const command of [
      ['apply', 'related.yaml', '--yes'],
      ['pipelines', 'validate', '--file', 'related.yaml'],
    ]) {
      const { code, stdout, stderr } = await vitrina(...command)
      expect([code, `${stdout}${stderr}`]).toEqual([1, expect.stringContaining('auth.users may not be read')])
      expect(`${stdout}${stderr}`).toMatch(/related.yaml:9:55: .*SOURCE_REFUSED/)
    }
    expect((await vitrina('pipelines', 'get', 'related')).code).toBe(1)
  })

  it('keep enabled if the file does not mention it', async () => {
    const { vitrina } = stand()
    await vitrina('pipelines', 'disable', 'genre_dim_full')
    expect((await vitrina('diff', EXAMPLES, '--exit-code')).code).toBe(0)
    await vitrina('pipelines', 'enable', 'genre_dim_full')
  })

  it('prompt before they change something, and fail without a terminal', async () => {
    const { vitrina, file } = stand()
    await file('asked.yaml', GENRES.replace('name: genres', 'name: asked').replace('.genres', '.asked'))
    const { code, stderr } = await vitrina('apply', 'asked.yaml')
    expect(code).toBe(2)
    expect(stderr).toMatch(/USAGE_INVALID: .*\n {2}→ Add --yes/)
    expect((await vitrina('pipelines', 'get', 'asked')).code).toBe(1)
  })

  it('report the effect on a checkpoint, and require a decision', async () => {
    const { vitrina, file, database } = stand()
    const text = `name: by_time
source_query: SELECT id, name, modified, created FROM content.genre
target_table: analytics.by_time
key_columns: [id]
mode: incremental
incremental_key: modified
incremental_id_key: id
`
    await file('by_time.yaml', text)
    await vitrina('apply', 'by_time.yaml', '--yes')
    expect((await vitrina('pipelines', 'run', 'by_time', '--wait')).code).toBe(0)
    await file('by_time.yaml', text.replace('_key: modified', '_key: created'))
    expect((await vitrina('diff', 'by_time.yaml')).stdout).toMatch(
      /! changes .*incremental_key: this invalidates the checkpoint .*, needs --reset-checkpoint/,
    )
    const refused = await vitrina('apply', 'by_time.yaml', '--yes')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('VTR-5106 CHECKPOINT_INVALID') })
    expect((await vitrina('apply', 'by_time.yaml', '--yes', '--reset-checkpoint')).code).toBe(0)
    const [state] = await database.query<{ last_processed_key: string | null }>(
      "SELECT last_processed_key FROM etl.etl_state JOIN etl.etl_pipelines p ON p.id = pipeline_id WHERE p.name = 'by_time'",
    )
    expect(state?.last_processed_key).toBeNull()
  })

  it('report all mistakes in all files at once, each with its place', async () => {
    const { vitrina, folder } = stand()
    await mkdir(join(folder, 'wrong/sql'), { recursive: true })
    await writeFile(
      join(folder, 'wrong/a.yaml'),
      'pipelines:\n  - name: a\n    souce_query: SELECT 1\n    target_table: analytics.a\n    batch_size: many\n',
    )
    await writeFile(
      join(folder, 'wrong/b.yaml'),
      'name: a\ntarget_table: analytics.b\nsource_query_file: sql/gone.sql\n---\nmode: [\n',
    )
    const { code, stderr, stdout } = await vitrina('diff', 'wrong', '--exit-code')
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(
      'wrong/a.yaml:3:5: unknown field "souce_query". Did you mean "source_query"?\n  3 |     souce_query: SELECT 1\n    |     ^^^^^^^^^^^\n',
    )
    expect(stderr).toContain(
      'wrong/a.yaml:5:17: batch_size must be a whole number from 1 to 1000000, or "auto"',
    )
    expect(stderr).toContain('wrong/b.yaml:1:7: "a" is already in wrong/a.yaml:2')
    expect(stderr).toContain('wrong/b.yaml:3:20: source_query_file cannot be read')
    expect(stderr).toMatch(/wrong\/b\.yaml:\d+:\d+: not valid YAML/)
    expect(stderr).toMatch(/VTR-1204 FILE_INVALID: \d mistakes in /)
  })

  it('show errors of the server at their place in the file', async () => {
    const { vitrina, folder } = stand()
    await mkdir(join(folder, 'refused/sql'), { recursive: true })
    await writeFile(join(folder, 'refused/sql/c.sql'), 'SELECT id,\n       nope\n  FROM content.genre\n')
    await writeFile(
      join(folder, 'refused/c.yaml'),
      'name: c\nsource_query_file: sql/c.sql\ntarget_table: analytics.c\nkey_columns: [id]\n',
    )
    await writeFile(
      join(folder, 'refused/d.yaml'),
      'name: d\nsource_query: SELECT id FROM content.genre\ntarget_table: public.d\nschedule_interval: whenever\n',
    )
    const { code, stderr } = await vitrina('apply', 'refused', '--yes')
    expect(code).toBe(1)
    expect(stderr).toMatch(/refused\/sql\/c\.sql:2:8: source_query: .*nope.*\n {2}2 \| {8}nope\n {4}\| {8}\^/)
    expect(stderr).toContain('refused/d.yaml:3:15: target_table: ')
    expect(stderr).toContain('refused/d.yaml:4:20: schedule_interval: ')
    expect((await vitrina('pipelines', 'get', 'c')).code).toBe(1)
  })
})

describe('vitrina export', () => {
  it('reports a folder that cannot be written with the reason and a remedy', async () => {
    const { vitrina, file } = stand()
    await file('taken', '')
    const { code, stderr } = await vitrina('export', '--out', 'taken/out')
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/FILE_INVALID: The files cannot be written to taken\/out: .*\n {2}→ .*--out/),
    ])
  })

  it('writes files that can be applied again without changes, whatever the SQL looks like', async () => {
    const { vitrina, database, folder } = stand()
    const queries = [
      '  SELECT 1 AS film_id\n\n',
      "SELECT 'a: b # c' AS film_id, $$\ttab $$ AS t  \nFROM content.genre",
      'SELECT 1 AS film_id\r\n-- two\r\n',
      '\n\nSELECT 1 AS film_id',
    ]
    for (const [n, sourceQuery] of queries.entries())
      await aPipeline(database, {
        name: `odd ${n}/x`,
        sourceQuery,
        enabled: false,
        deleteBrake: 0.25,
        description: 'yes',
      })
    await aPipeline(database, {
      name: 'planned',
      sourceQuery: '',
      tasks: [
        { taskType: 'SQL', body: 'SELECT id AS film_id\n  FROM content.genre', sourceTable: 'content.genre' },
      ],
    })
    const written = await vitrina('export', '--out', 'out')
    expect(written.code).toBe(0)
    expect(await readdir(join(folder, 'out'))).toContain('pipeline.schema.json')
    const text = await readFile(join(folder, 'out/genre_dim_full.yaml'), 'utf8')
    expect(text).toMatch(
      /^# yaml-language-server: \$schema=pipeline\.schema\.json\napiVersion: vitrina\/v1\nname: genre_dim_full\n/,
    )
    expect(text).toContain('source_query: |-\n  SELECT g.id AS genre_id')
    const { stdout, code } = await vitrina('diff', 'out', '--exit-code', '--no-validate')
    expect(stdout).toMatch(/0 to create, 0 to update, \d+ unchanged, 0 not in files/)
    expect(code).toBe(0)
  })

  it('writes several documents to stdout, and prune deletes what they leave out', async () => {
    const { vitrina, file, database } = stand()
    await aPipeline(database, { name: 'left_out' })
    const names = json((await vitrina('pipelines', 'list', '--json')).stdout).items.map(
      ({ name }: { name: string }) => name,
    )
    const { stdout } = await vitrina('export', ...names.filter((name: string) => name !== 'left_out'))
    await file('all.yaml', stdout)
    const pruned = await vitrina('apply', 'all.yaml', '--prune', '--yes', '--no-validate')
    expect(pruned).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/- delete left_out\n[\s\S]*✓ deleted left_out/),
    })
    expect((await vitrina('pipelines', 'get', 'left_out')).code).toBe(1)
  })
})

describe('what manages a pipeline', () => {
  it('is the file that was applied, until take_over', async () => {
    const { vitrina, file } = stand()
    const text =
      'name: of_file\ntarget_table: analytics.of_file\nsource_query: SELECT 1 AS id\nkey_columns: [id]\n'
    const name = await file('of_file.yaml', text)
    expect((await vitrina('apply', name, '--yes')).code).toBe(0)
    const manager = async () =>
      json((await vitrina('pipelines', 'get', 'of_file', '--json')).stdout).managed_by
    expect(await manager()).toBe('file')
    const refused = await vitrina('pipelines', 'update', 'of_file', '--batch-size', '7')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/PIPELINE_MANAGED: .*\n.*take_over/),
    })
    for (const args of [
      ['restore', 'of_file', '1'],
      ['delete', 'of_file'],
    ])
      expect((await vitrina('pipelines', ...args)).stderr).toContain('PIPELINE_MANAGED')
    // Enabling is not configuration: an operator who disables a pipeline at night does not edit a file.
    expect((await vitrina('pipelines', 'disable', 'of_file')).code).toBe(0)
    expect(await manager()).toBe('file')
    expect((await vitrina('pipelines', 'update', 'of_file', '--batch-size', '7', '--take-over')).code).toBe(0)
    expect(await manager()).toBe('api')
    // The file manages the pipeline again once it is applied.
    expect((await vitrina('apply', name, '--yes')).code).toBe(0)
    expect(await manager()).toBe('file')
    expect((await vitrina('diff', name, '--exit-code')).code).toBe(0)
    expect((await vitrina('pipelines', 'delete', 'of_file', '--take-over')).code).toBe(0)
  })
})

describe('files without a server', () => {
  it('are checked by themselves, with their references and for passwords', async () => {
    const { vitrinaWith, file } = stand()
    const good = await file(
      'good.yaml',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: references in files look like that.
      'name: offline\ntarget_table: analytics.${env:STAGE}\nsource_query: SELECT 1 AS id\n',
    )
    const unreachable = { VITRINA_URL: 'http://127.0.0.1:1', VITRINA_API_TOKEN: 'x' }
    const check = (env: Record<string, string>, name: string, ...more: string[]) =>
      vitrinaWith(
        { ...unreachable, ...env },
        ...['pipelines', 'validate', '--file', name, '--offline', '--allow-env', 'STAGE', ...more],
      )
    expect(await check({ STAGE: 'blue' }, good)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('✓ offline'),
    })
    expect(json((await check({ STAGE: 'blue' }, good, '--json')).stdout)).toEqual({
      items: [{ name: 'offline', valid: true }],
    })
    const unset = await check({}, good)
    expect(unset).toMatchObject({ code: 1, stdout: '' })
    expect(unset.stderr).toContain('good.yaml:2:15: target_table: the environment variable STAGE is not set')
    const bad = await file(
      'bad.yaml',
      'name: bad\ntarget_table: t.a\ndescription: postgres://etl:hunter2@db/shop\n',
    )
    const refused = await check({}, bad)
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('bad.yaml:3:14: description contains a password'),
    })
    expect(refused.stderr).not.toContain('hunter2')
    expect((await vitrinaWith(unreachable, 'pipelines', 'validate', 'x', '--offline')).code).toBe(2)
  })
})

describe('help for editors and shells', () => {
  it('prints the schema of the files', async () => {
    const schema = json((await stand().vitrina('schema')).stdout)
    expect(schema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    expect(schema.$defs.pipeline.properties.source_query.description).toMatch(/SELECT/)
  })

  it('completes commands and options in bash', async () => {
    const { stdout } = await stand().vitrina('completion', 'bash')
    const typed = async (...words: string[]) => {
      const script = `${stdout}\nCOMP_WORDS=(vitrina ${words.join(' ')} ""); COMP_CWORD=${words.length + 1}; _vitrina; echo "\${COMPREPLY[@]}"`
      return (await promisify(execFile)('bash', ['-c', script])).stdout.trim().split(' ')
    }
    expect(await typed('pipelines')).toEqual(expect.arrayContaining(['list', 'reconcile', 'run']))
    expect(await typed('pipelines', 'run', 'film_dim')).toEqual(
      expect.arrayContaining(['--follow', '--wait']),
    )
  })
})

describe('a table as source', () => {
  it('round-trips from flags to the server, to a file and back without changes', async () => {
    const { vitrina, file } = stand()
    const flags = ['--target', 'analytics.people', '--key', 'id']
    const made = await vitrina(
      'pipelines',
      'create',
      '--name',
      'people',
      '--source-table',
      'content.person',
      ...flags,
    )
    expect(made.code, made.stderr).toBe(0)
    expect((await vitrina('pipelines', 'get', 'people')).stdout).toMatch(/source_table\s+content\.person\n/)
    const only = await vitrina('pipelines', 'update', 'people', '--source-columns', 'id,full_name')
    expect(only.code, only.stderr).toBe(0)
    const { stdout: yaml } = await vitrina('export', 'people')
    expect(yaml).toContain('source_table: content.person\n')
    expect(yaml).toMatch(/source_columns:\n\s+- id\n\s+- full_name\n/)
    expect(yaml).not.toContain('source_query')
    await file('people.yaml', yaml)
    expect(await vitrina('diff', 'people.yaml', '--exit-code')).toMatchObject({ code: 0 })
    const run = await vitrina('pipelines', 'run', 'people', '--wait')
    expect(run.code, run.stderr).toBe(0)
    const deep = await vitrina('pipelines', 'reconcile', 'people', '--deep', '--json')
    expect(json(deep.stdout)).toMatchObject({ matches: true, source: { count: 289 } })
    // A query in the file replaces the table, and the other way round.
    await file(
      'people.yaml',
      yaml.replace(
        /source_table[\s\S]*full_name\n/,
        'source_query: SELECT id, full_name FROM content.person\n',
      ),
    )
    const toQuery = await vitrina('apply', 'people.yaml', '--yes', '--reset-checkpoint')
    expect(toQuery.code, toQuery.stderr).toBe(0)
    expect(json((await vitrina('pipelines', 'get', 'people', '--json')).stdout)).toMatchObject({
      source_table: null,
      source_columns: [],
    })
    await file('people.yaml', yaml)
    expect((await vitrina('apply', 'people.yaml', '--yes', '--reset-checkpoint')).code).toBe(0)
    expect(await vitrina('diff', 'people.yaml', '--exit-code')).toMatchObject({ code: 0 })
  })

  it('next to a query is a mistake, reported at its place', async () => {
    const { vitrina, file } = stand()
    await file('both.yaml', GENRES.replace('name: genres', 'name: both\nsource_table: content.genre'))
    const { code, stderr } = await vitrina('diff', 'both.yaml')
    expect(code).toBe(1)
    expect(stderr).toMatch(/both\.yaml:2:1.*give source_query or source_table, not both/)
  })
})

describe('two pipelines on one target', () => {
  const pipeline = (name: string, target: string, more = '') =>
    `name: ${name}\nsource_table: content.genre\ntarget_table: ${target}\nkey_columns: [id]\n${more}`

  it('are found in the files before anything is changed', async () => {
    const { vitrina, file } = stand()
    await file(
      'one.yaml',
      `${pipeline('twin_a', 'analytics.twins')}---\n${pipeline('twin_b', `'"analytics".TWINS'`)}`,
    )
    const planned = await vitrina('diff', 'one.yaml')
    expect(planned.code).toBe(1)
    expect(planned.stderr).toMatch(
      /one\.yaml:\d+:\d+.*TARGET_TAKEN: pipeline "twin_a" also writes to "analytics"\.TWINS/,
    )
    expect((await vitrina('apply', 'one.yaml', '--yes')).code).toBe(1)
    expect((await vitrina('pipelines', 'get', 'twin_a')).code).toBe(1)
    await file('demo.yaml', pipeline('intruder', 'analytics.film_dim'))
    expect((await vitrina('diff', 'demo.yaml')).stderr).toContain(
      'pipeline "film_dim_full" also writes to analytics.film_dim',
    )
  })

  it('are applied if both allow sharing, in any order', async () => {
    const { vitrina, file } = stand()
    await file('room.yaml', pipeline('z_first', 'analytics.room'))
    expect((await vitrina('apply', 'room.yaml', '--yes')).code).toBe(0)
    // The new one comes first in the plan, and has to wait for the change of the old one.
    const shared = 'shared_target: true\n'
    await file(
      'room.yaml',
      `${pipeline('a_second', 'analytics.room', shared)}---\n${pipeline('z_first', 'analytics.room', shared)}`,
    )
    const applied = await vitrina('apply', 'room.yaml', '--yes')
    expect(applied.code, applied.stderr).toBe(0)
    expect(applied.stdout).toMatch(/updated z_first[\s\S]*created a_second/)
    expect(await vitrina('diff', 'room.yaml', '--exit-code')).toMatchObject({ code: 0 })
  })
})

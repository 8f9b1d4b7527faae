import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { aPipeline } from '../support/builders.js'
import { aCliStand, CLI_TOKEN } from '../support/cli.js'

const stand = aCliStand()
const json = (text: string) => JSON.parse(text)

describe('vitrina pipelines', () => {
  it('lists pipelines as a table for people and as the JSON of the API for programs', async () => {
    const table = await stand().vitrina('pipelines', 'list', '--q', 'film_dim_full')
    expect(table).toMatchObject({ code: 0, stderr: '' })
    expect(table.stdout).toMatch(
      /^name +status .*\n─.*\nfilm_dim_full +IDLE +yes +full +analytics\.film_dim /,
    )
    const page = json((await stand().vitrina('pipelines', 'list', '--limit', '1', '--json')).stdout)
    expect(page).toMatchObject({ items: [{ name: 'audience_segments' }], next_cursor: expect.any(String) })
  })

  it('sets tags and lists the pipelines that have them', async () => {
    const { vitrina } = stand()
    const created = await vitrina(
      ...['pipelines', 'create', '--name', 'tagged', '--query', 'SELECT id, name FROM content.genre'],
      ...[
        '--target',
        'analytics.tagged',
        '--key',
        'id',
        '--tag',
        'reports,finance',
        '--tag',
        'daily',
        '--json',
      ],
    )
    expect(json(created.stdout)).toMatchObject({ tags: ['reports', 'finance', 'daily'] })
    const names = async (...tags: string[]) =>
      json((await vitrina('pipelines', 'list', ...tags, '--json')).stdout).items.map(
        (one: { name: string }) => one.name,
      )
    expect(await names('--tag', 'finance')).toEqual(['tagged'])
    expect(await names('--tag', 'finance', '--tag', 'other')).toEqual([])
    const wrong = await vitrina('pipelines', 'update', 'tagged', '--tag', 'Finance')
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toMatch(/tags.*lower-case/)
    expect((await vitrina('pipelines', 'delete', 'tagged', '--yes')).code).toBe(0)
  })

  it('sets what a pipeline follows, shows the graph, and runs pipelines in order', async () => {
    const { vitrina } = stand()
    const create = (name: string, ...more: string[]) =>
      vitrina(
        ...['pipelines', 'create', '--name', name, '--query', 'SELECT id, name FROM content.genre'],
        ...['--target', `analytics.${name}`, '--key', 'id', '--json', ...more],
      )
    expect(json((await create('goes_first')).stdout)).toMatchObject({ after: 'auto' })
    const second = await create('goes_second', '--after', 'goes_first', '--on-upstream-failure', 'run')
    expect(json(second.stdout)).toMatchObject({ after: ['goes_first'], on_upstream_failure: 'run' })
    const unknown = await vitrina('pipelines', 'update', 'goes_second', '--after', 'goes_nowhere')
    expect(unknown.stderr).toMatch(/AFTER_UNKNOWN: .*"goes_nowhere"/)
    const circle = await vitrina('pipelines', 'update', 'goes_first', '--after', 'goes_second')
    expect(circle.stderr).toMatch(/ORDER_CYCLE: .*goes_first → goes_second → goes_first/)
    const graph = await vitrina('graph')
    expect(graph.stdout).toMatch(/^goes_second +goes_first +IDLE/m)
    const wave = await vitrina('pipelines', 'run', 'goes_first', '--with', 'downstream', '--wait')
    expect(wave.stdout).toMatch(/✓ goes_first: success.*\n✓ goes_second: success/)
    const again = json(
      (await vitrina('pipelines', 'run', 'goes_second', '--with', 'upstream', '--wait', '--json')).stdout,
    )
    expect(again.runs).toMatchObject([
      { pipeline_name: 'goes_first', status: 'SUCCESS' },
      { pipeline_name: 'goes_second', status: 'SUCCESS' },
    ])
    expect((await vitrina('pipelines', 'update', 'goes_second', '--after', 'none', '--json')).stdout).toMatch(
      /"after": "none"/,
    )
    for (const name of ['goes_second', 'goes_first'])
      expect((await vitrina('pipelines', 'delete', name, '--yes')).code).toBe(0)
  })

  it('shows a pipeline by its name and by its id', async () => {
    const byName = json((await stand().vitrina('pipelines', 'get', 'genre_dim_full', '--json')).stdout)
    const byId = json((await stand().vitrina('pipelines', 'get', byName.id, '--json')).stdout)
    expect(byId).toEqual(byName)
  })

  it('suggests a similar pipeline', async () => {
    const { code, stderr } = await stand().vitrina('pipelines', 'get', 'genre_dim_ful')
    expect(code).toBe(1)
    expect(stderr).toMatch(/VTR-5101 PIPELINE_NOT_FOUND: .*Did you mean "genre_dim_full"\?\n {2}→ /)
  })

  it('creates, changes, switches and deletes a pipeline with flags', async () => {
    const { vitrina } = stand()
    const query = 'SELECT id, name FROM content.genre'
    const created = await vitrina(
      'pipelines',
      'create',
      '--name',
      'by_flags',
      '--query',
      query,
      '--target',
      'analytics.by_flags',
      '--key',
      'id',
      '--disabled',
      '--json',
    )
    expect(json(created.stdout)).toMatchObject({ name: 'by_flags', key_columns: ['id'], enabled: false })
    expect((await vitrina('pipelines', 'update', 'by_flags', '--batch-size', '7')).stdout).toContain(
      'version 2',
    )
    expect(
      (await vitrina('pipelines', 'update', 'by_flags', '--batch-size', '8', '--if-match', '1')).stderr,
    ).toContain('VERSION_STALE')
    expect((await vitrina('pipelines', 'enable', 'by_flags')).stdout).toBe('by_flags is enabled.\n')
    const versions = json((await vitrina('pipelines', 'versions', 'by_flags', '--json')).stdout)
    expect(versions.items.map((one: { version: number }) => one.version)).toEqual([3, 2, 1])
    expect((await vitrina('pipelines', 'restore', 'by_flags', '1')).code).toBe(0)
    expect((await vitrina('pipelines', 'delete', 'by_flags')).stdout).toBe('Deleted by_flags.\n')
    expect((await vitrina('pipelines', 'get', 'by_flags')).code).toBe(1)
  })

  it('returns exit code 2 and a remedy for invalid usage', async () => {
    for (const args of [
      ['update', 'genre_dim_full'],
      ['validate'],
      ['list', '--status', 'NOPE'],
      ['reconcile', 'x', '--wait'],
    ]) {
      const { code, stderr, stdout } = await stand().vitrina('pipelines', ...args)
      expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' })
      expect(stderr).toMatch(/→|--help/)
    }
  })
})

describe('vitrina pipelines run', () => {
  it('returns the run at once, and finds it again by its key', async () => {
    const { vitrina } = stand()
    const key = ['--idempotency-key', 'once', '--external-ref', 'dag:1', '--json']
    const first = json((await vitrina('pipelines', 'run', 'film_dim_full', ...key)).stdout)
    const again = json((await vitrina('pipelines', 'run', 'film_dim_full', ...key)).stdout)
    expect(again.run_id).toBe(first.run_id)
    expect(json((await vitrina('runs', 'get', first.run_id, '--json')).stdout)).toMatchObject({
      external_ref: 'dag:1',
    })
  })

  it('waits for success, and shows progress', async () => {
    const { code, stdout, stderr } = await stand().vitrina('pipelines', 'run', 'genre_dim_full', '--follow')
    expect({ code, stderr }).toMatchObject({ code: 0 })
    expect(stdout).toMatch(/✓ genre_dim_full: success, 14 rows read/)
    expect(stderr).toMatch(/genre_dim_full: success/)
    expect((await stand().vitrina('pipelines', 'status', 'genre_dim_full')).stdout).toMatch(/status +IDLE/)
    expect(
      (await stand().vitrina('pipelines', 'runs', 'genre_dim_full', '--status', 'SUCCESS')).stdout,
    ).toContain('SUCCESS')
  })

  it('fails with the error of the run', async () => {
    await aPipeline(stand().database, {
      name: 'breaks',
      sourceQuery: 'SELECT id AS film_id, 1/0 AS x FROM content.film_work',
    })
    const { code, stderr, stdout } = await stand().vitrina('pipelines', 'run', 'breaks', '--wait', '--json')
    expect(code).toBe(1)
    expect(json(stdout)).toMatchObject({ status: 'FAILED', batch_history: [] })
    expect(stderr).toMatch(
      /VTR-2002 SOURCE_QUERY_FAILED: The run of breaks ended FAILED: .*division by zero.*\n {2}→ /,
    )
  })

  it('says how many rows were not written because their key was repeated', async () => {
    await aPipeline(stand().database, {
      name: 'repeats',
      sourceQuery: 'SELECT n % 2 AS film_id, n FROM generate_series(1, 5) AS n',
      keyColumns: ['film_id'],
    })
    const { code, stdout } = await stand().vitrina('pipelines', 'run', 'repeats', '--wait')
    expect(code).toBe(0)
    expect(stdout).toContain('5 rows read, 2 written, 3 with a repeated key, 1 batch')
  })

  it('detaches on Ctrl-C without stopping the run; cancel and pause reach it', async () => {
    await stand().database.query('CREATE TABLE content.held AS SELECT g AS id FROM generate_series(1, 3) g')
    await stand().database.query('GRANT SELECT ON content.held TO PUBLIC')
    await aPipeline(stand().database, {
      name: 'held',
      sourceQuery: 'SELECT id FROM content.held',
      keyColumns: ['id'],
    })
    const holder = await stand().database.client()
    await holder.query('BEGIN; LOCK TABLE content.held')
    const following = stand().start('pipelines', 'run', 'held', '--follow')
    await following.waitForOutput(/held: running/)
    following.kill('SIGINT')
    expect(await following.exited).toBe(130)
    expect(following.stderr).toMatch(/Detached; the run continues.*vitrina runs cancel/)
    expect((await stand().vitrina('pipelines', 'pause', 'held')).stdout).toMatch(/held is PAUSE_REQUESTED/)
    const cancelled = await stand().vitrina('pipelines', 'cancel', 'held')
    expect(cancelled).toMatchObject({ code: 0, stdout: expect.stringContaining('of held stops after') })
    // Its batch waits for the lock and does not respond.
    const forced = await stand().vitrina('pipelines', 'cancel', 'held', '--force')
    expect(forced).toMatchObject({ code: 0, stdout: expect.stringContaining('is CANCELLED.') })
    await holder.query('ROLLBACK')
  })
})

describe('validation and preview', () => {
  it('show the position of an error in the query, and exit 1', async () => {
    await aPipeline(stand().database, {
      name: 'misspelt',
      sourceQuery: 'SELECT id AS film_id,\n  nope\n FROM content.film_work',
    })
    const { code, stdout } = await stand().vitrina('pipelines', 'validate', 'misspelt')
    expect(code).toBe(1)
    expect(stdout).toContain('✗ source_query:2:3: SOURCE_QUERY_FAILED')
    expect(stdout).toContain('    2 |   nope\n      |   ^\n')
  })

  it('show the position in a file, through the indentation of YAML', async () => {
    const { file, vitrina } = stand()
    const path = await file(
      'guard.yaml',
      'name: guarded\nsource_query: |\n    SELECT id\n      FROM auth.users\ntarget_table: analytics.guarded\nkey_columns: [id]\n',
    )
    const { code, stdout } = await vitrina('pipelines', 'validate', '--file', path)
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /✗ guard\.yaml:4:12: SOURCE_REFUSED: .*\n {4}4 \| {7}FROM auth\.users\n {6}\| {12}\^/,
    )
  })

  it('preview rows as a table', async () => {
    const { stdout } = await stand().vitrina('pipelines', 'preview', 'genre_dim_full', '--limit', '2')
    expect(stdout.trimEnd().split('\n')).toHaveLength(4)
    expect(stdout).toMatch(/^genre_id +name +description/)
  })

  it('finds a mart that differs, repairs it, and finds it equal', async () => {
    const { vitrina, database } = stand()
    await vitrina('pipelines', 'run', 'film_rating_agg_full', '--wait')
    expect((await vitrina('pipelines', 'reconcile', 'film_rating_agg_full')).code).toBe(0)
    await database.query(
      'DELETE FROM analytics.film_rating_agg WHERE film_id = (SELECT min(film_id::text)::uuid FROM analytics.film_rating_agg)',
    )
    const differs = await vitrina('pipelines', 'reconcile', 'film_rating_agg_full', '--deep')
    expect(differs.code).toBe(1)
    expect(differs.stdout).toMatch(/differs\.[\s\S]*missing: 1 row,/)
    const repaired = await vitrina('pipelines', 'reconcile', 'film_rating_agg_full', '--repair', '--wait')
    expect(repaired).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('film_rating_agg_full matches'),
    })
  })
})

describe('the server of a command', () => {
  it('is named if it does not respond', async () => {
    const { code, stderr } = await stand().vitrina('pipelines', 'list', '--url', 'http://127.0.0.1:9')
    expect(code).toBe(1)
    expect(stderr).toMatch(
      /VTR-1203 SERVER_UNREACHABLE: No Vitrina API responds at http:\/\/127\.0\.0\.1:9: .*\n {2}→ Start one/,
    )
  })

  it('is named if it rejects the token, or if there is no token', async () => {
    const refused = await stand().vitrina('pipelines', 'list', '--token', 'another-token-altogether')
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('VTR-7001 UNAUTHENTICATED') })
    const none = await stand().vitrinaWith({}, 'runs', 'list', '--url', 'http://vitrina.invalid')
    expect(none.stderr).toMatch(/UNAUTHENTICATED: No token for http:\/\/vitrina\.invalid/)
  })

  it('comes from a context that only its owner can read', async () => {
    const { vitrinaWith, url, folder } = stand()
    expect((await vitrinaWith({}, 'context', 'add', 'here', '--url', url, '--token', CLI_TOKEN)).code).toBe(0)
    const { mode } = await stat(join(folder, '.config/vitrina/contexts.json'))
    expect(mode & 0o777).toBe(0o600)
    expect((await vitrinaWith({}, 'pipelines', 'list', '--context', 'here')).code).toBe(0)
    expect((await vitrinaWith({ VITRINA_CONTEXT: 'here' }, 'runners', 'list')).stdout).toContain('holds')
    expect((await vitrinaWith({}, 'context', 'use', 'here')).code).toBe(0)
    expect((await vitrinaWith({}, 'pipelines', 'list')).code).toBe(0)
    const listed = await vitrinaWith({}, 'context', 'list', '--json')
    expect(listed.stdout).not.toContain(CLI_TOKEN)
    expect(json(listed.stdout).items).toEqual([{ name: 'here', url, has_token: true, current: true }])
    expect((await vitrinaWith({}, 'pipelines', 'list', '--context', 'her')).stderr).toContain(
      'Did you mean "here"?',
    )
    expect((await vitrinaWith({}, 'context', 'remove', 'here')).code).toBe(0)
  })

  it('creates tokens that are shown once, and records it in the audit', async () => {
    const { vitrina } = stand()
    const made = await vitrina('tokens', 'create', '--name', 'ci', '--role', 'viewer', '--expires', '1d')
    const token = made.stdout.trim()
    expect((await vitrina('pipelines', 'list', '--token', token)).code).toBe(0)
    expect((await vitrina('pipelines', 'disable', 'genre_dim_full', '--token', token)).stderr).toContain(
      'FORBIDDEN',
    )
    expect((await vitrina('tokens', 'list')).stdout).not.toContain(token)
    const next = (await vitrina('tokens', 'rotate', 'ci', '--grace', '1h')).stdout.trim()
    for (const value of [token, next])
      expect((await vitrina('pipelines', 'list', '--token', value)).code).toBe(0)
    expect((await vitrina('tokens', 'rotate', 'ci', '--grace', 'soon')).code).toBe(2)
    expect((await vitrina('audit', '--actor', 'administrator', '--action', 'token.')).stdout).toMatch(
      /token\.rotate +ci/,
    )
    expect((await vitrina('tokens', 'revoke', 'ci')).code).toBe(0)
    for (const value of [token, next])
      expect((await vitrina('pipelines', 'list', '--token', value)).code).toBe(1)
    expect((await vitrina('audit', '--action', 'token.revoke')).stdout).toMatch(/token\.revoke +ci/)
  })
})

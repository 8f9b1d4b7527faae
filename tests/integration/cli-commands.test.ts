import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { aPipeline } from '../support/builders.js'
import { aCliStand, CLI_TOKEN } from '../support/cli.js'
import { waitFor } from '../support/wait.js'

const stand = aCliStand()
const READS = [
  ['pipelines', 'list'],
  ['pipelines', 'get', 'genre_dim_full'],
  ['pipelines', 'status', 'genre_dim_full'],
  ['pipelines', 'runs', 'genre_dim_full'],
  ['pipelines', 'versions', 'genre_dim_full'],
  ['pipelines', 'validate', 'genre_dim_full'],
  ['pipelines', 'preview', 'genre_dim_full'],
  ['runs', 'list'],
  ['runners', 'list'],
  ['quarantine', 'list', 'genre_dim_full'],
  ['notifications', 'list'],
  ['notifications', 'channels'],
  ['notifications', 'dead'],
  ['tokens', 'list'],
  ['sessions', 'list', '--everyone'],
  ['audit'],
  ['context', 'list'],
]

describe('--output', () => {
  it.each(READS)('%s %s has the same content as json, yaml and ndjson', async (...args) => {
    const { vitrina } = stand()
    const [json, short, yaml, ndjson] = await Promise.all(
      [['--output', 'json'], ['--json'], ['-o', 'yaml'], ['-o', 'ndjson']].map((flags) =>
        vitrina(...args, ...flags),
      ),
    )
    const answer = JSON.parse(json!.stdout)
    // Age and lag are measured again each time.
    const plain = (value: unknown) =>
      JSON.stringify(value).replace(/"(heartbeat_\w+|seconds_since\w+)":[^,}]+/g, '$1')
    expect(plain(JSON.parse(short!.stdout))).toBe(plain(answer))
    expect(plain(parse(yaml!.stdout))).toBe(plain(answer))
    const lines = ndjson!.stdout.split('\n').filter((line) => line !== '')
    expect(plain(lines.map((line) => JSON.parse(line)))).toBe(plain(answer.items ?? [answer]))
    expect([json, short, yaml, ndjson].map((one) => one?.code)).toEqual([0, 0, 0, 0])
  })

  it('rejects an unknown format as invalid usage', async () => {
    const { code, stderr, stdout } = await stand().vitrina('runs', 'list', '--output', 'xml')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('table, json, yaml, ndjson')
  })
})

describe('colours', () => {
  const shown = async (env: Record<string, string>) => {
    const { url, folder } = stand()
    const bin = new URL('../../bin/vitrina.js', import.meta.url).pathname
    const command = `'${process.execPath}' '${bin}' pipelines list`
    const all = {
      PATH: process.env.PATH,
      HOME: folder,
      VITRINA_URL: url,
      VITRINA_API_TOKEN: CLI_TOKEN,
      ...env,
    }
    return (await promisify(execFile)('script', ['-qec', command, '/dev/null'], { env: all, cwd: folder }))
      .stdout
  }
  it('are used on terminals, and not with NO_COLOR', async (context) => {
    await promisify(execFile)('script', ['--version']).catch(() =>
      context.skip('script (util-linux), which makes a terminal, is not installed'),
    )
    expect(await shown({ TERM: 'xterm' })).toContain('\u001b[')
    expect(await shown({ TERM: 'xterm', NO_COLOR: '1' })).not.toContain('\u001b[')
    expect((await stand().vitrina('pipelines', 'list')).stdout).not.toContain('\u001b[')
  })
})

describe('vitrina runs log', () => {
  const ndjson = (text: string) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))

  it('shows the log of a run, and follows a run to its end without repeating a line', async () => {
    const { database, start, vitrina } = stand()
    const { spec } = await aPipeline(database, {
      sourceQuery:
        'SELECT id AS film_id, (SELECT count(*) FROM generate_series(1, 30000 + length(title))) AS slow FROM content.film_work',
      batchSize: 5,
    })
    await vitrina('pipelines', 'run', spec.name)
    const follower = start('runs', 'log', spec.name, '--follow', '--output', 'ndjson')
    expect(await follower.exited).toBe(0)
    expect(follower.stderr).toContain('The run ended SUCCESS.')
    const lines = ndjson(follower.stdout)
    expect(lines[0].message).toBe('Run started.')
    const ids = lines.map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b))
    const whole = await vitrina('runs', 'log', spec.name, '-o', 'ndjson')
    expect(ndjson(whole.stdout)).toEqual(lines)
    const table = await vitrina('runs', 'log', spec.name)
    expect(table.stdout).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ {2}info {3}Run started\. /)
    expect(table.stdout.trimEnd().split('\n')).toHaveLength(lines.length)
  })

  it('shows only warnings and errors with --errors', async () => {
    const { database, vitrina } = stand()
    const { spec } = await aPipeline(database, {
      sourceQuery: 'SELECT id AS film_id, 1 / 0 AS title FROM content.film_work',
    })
    await vitrina('pipelines', 'run', spec.name, '--wait')
    const errors = await waitFor(
      async () => {
        const { stdout } = await vitrina('runs', 'log', spec.name, '--errors', '-o', 'ndjson')
        return stdout === '' ? null : ndjson(stdout)
      },
      { what: 'the errors of the run' },
    )
    expect(errors.map(({ level }) => level)).not.toContain('info')
    expect(JSON.stringify(errors)).toContain('division by zero')
  })

  it('reports invalid usage', async () => {
    const { database, vitrina } = stand()
    const { spec } = await aPipeline(database)
    expect(await vitrina('runs', 'log', spec.name)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('has no runs'),
    })
    expect(await vitrina('runs', 'log', spec.name, '-f', '--json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ndjson'),
    })
  })
})

describe('vitrina lineage', () => {
  it('shows what every pipeline reads and writes, and what cannot be analyzed', async () => {
    await aPipeline(stand().database, { name: 'broken', sourceQuery: 'SELECT FROM WHERE' })
    const { code, stdout } = await stand().vitrina('lineage')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^pipeline +reads +fills +problem\n/)
    expect(stdout).toMatch(/^film_rating_agg_full +ugc\.ratings +analytics\.film_rating_agg +–$/m)
    expect(stdout).toMatch(/^broken .*SOURCE_QUERY_FAILED: line 1/m)
  })

  it('shows the sources of each column of one pipeline, for people and for programs', async () => {
    const table = await stand().vitrina('lineage', 'film_rating_agg_full')
    expect(table.stdout).toMatch(
      /^avg_rating +aggregate +ugc\.ratings\.rating +avg\(ugc\.ratings\.rating\)$/m,
    )
    const { columns } = JSON.parse(
      (await stand().vitrina('lineage', 'film_rating_agg_full', '--output', 'json')).stdout,
    )
    expect(columns[0]).toMatchObject({ name: 'film_id', kind: 'direct' })
  })

  it('exports OpenLineage events', async () => {
    const { stdout } = await stand().vitrina('lineage', 'genre_dim_full', '--openlineage')
    expect(JSON.parse(stdout)).toMatchObject([{ job: { name: 'genre_dim_full' }, outputs: [{}] }])
    expect((await stand().vitrina('lineage', 'genre_dim_ful')).stderr).toContain(
      'Did you mean "genre_dim_full"?',
    )
  })
})

/** The cookie and key of a signed-in browser. */
async function signIn(token: string): Promise<Record<string, string>> {
  const answer = await fetch(`${stand().url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf': '1', 'user-agent': 'A browser of a test' },
    body: JSON.stringify({ token }),
  })
  const { csrf_token } = (await answer.json()) as { csrf_token: string }
  return { cookie: answer.headers.get('set-cookie')!.split(';')[0]!, 'x-csrf': csrf_token }
}

const isSignedIn = async (headers: Record<string, string>) =>
  (await fetch(`${stand().url}/api/v1/pipelines`, { headers })).status === 200

describe('vitrina sessions', () => {
  it('lists signed-in browsers, and signs them out one by one or all at once', async () => {
    const { vitrina } = stand()
    expect((await vitrina('sessions', 'list')).stderr).toContain('No browser is signed in.')
    const other = (await vitrina('tokens', 'create', '--name', 'team', '--role', 'viewer')).stdout.trim()
    const [own, second, theirs] = [await signIn(CLI_TOKEN), await signIn(CLI_TOKEN), await signIn(other)]
    const list = (await vitrina('sessions', 'list')).stdout
    expect(list).toContain('A browser of a test')
    expect(list).not.toContain('team')
    const { items } = JSON.parse((await vitrina('sessions', 'list', '--everyone', '--json')).stdout)
    expect(items.map(({ name }: { name: string }) => name)).toEqual([
      'team',
      'administrator',
      'administrator',
    ])
    const ended = await vitrina('sessions', 'end', items[1].id)
    expect([ended.code, ended.stdout.trim()]).toEqual([0, `Ended session ${items[1].id}.`])
    expect([await isSignedIn(own), await isSignedIn(second)]).toEqual([true, false])
    const again = await vitrina('sessions', 'end', items[1].id)
    expect([again.code, again.stderr.includes('does not exist.')]).toEqual([1, true])
    expect((await vitrina('sessions', 'end', '--all')).stdout.trim()).toBe('Ended 1 session.')
    expect([await isSignedIn(own), await isSignedIn(theirs)]).toEqual([false, true])
    expect((await vitrina('sessions', 'end', '--all', '--everyone')).stdout.trim()).toBe('Ended 1 session.')
    expect(await isSignedIn(theirs)).toBe(false)
  })

  it.each([
    ['neither a session nor --all', ['sessions', 'end']],
    ['both of them', ['sessions', 'end', 'a', '--all']],
  ])('requires one of the two, not %s', async (_what, args) => {
    const { code, stderr } = await stand().vitrina(...args)
    expect([code, stderr.includes('Give either the id of a session or --all.')]).toEqual([2, true])
  })
})

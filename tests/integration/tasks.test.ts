import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { vtr } from '../../src/model/errors.js'
import { aPipeline } from '../support/builders.js'
import { aCliStand } from '../support/cli.js'
import { descendantsOf, isAlive } from '../support/proc.js'
import { spawnVitrina } from '../support/processes.js'
import { requestRun, run, runEnded } from '../support/runs.js'
import { waitFor } from '../support/wait.js'

const GUIDE = readFileSync(new URL('../../docs/guides/python-tasks.md', import.meta.url), 'utf8')
const snippets = [...GUIDE.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, kind, text = '']) => ({
  kind,
  text,
}))

const stand = aCliStand()
const write = async (file: string, text: string) => {
  await mkdir(dirname(join(stand().folder, file)), { recursive: true })
  await writeFile(join(stand().folder, file), text)
}

/** The files of the guide, at the path in their first line. */
beforeAll(async () => {
  for (const { text } of snippets) {
    const file = /^(?:#|\/\/) (pipelines\/\S+)\n/.exec(text)?.[1]
    if (file !== undefined) await write(file, text)
  }
  await write('segments.yaml', snippets.find(({ kind }) => kind === 'yaml')!.text)
})

const READ = { taskType: 'SQL', body: 'SELECT id AS film_id, title FROM content.film_work' } as const
const withTransform = (body: string) =>
  aPipeline(stand().database, { type: 'PYTHON', tasks: [READ, { taskType: 'PYTHON', body }] })
const logOf = async (runId: string) =>
  stand().database.query<{ message: string; transform: string | null }>(
    "SELECT message, fields->>'transform' AS transform FROM etl.etl_run_log WHERE run_id = $1 ORDER BY id",
    [runId],
  )

describe('the guide to tasks (R4.9)', () => {
  it('lists its functions, applies its pipeline and builds its mart', async () => {
    const { vitrina, database } = stand()
    const listed = await vitrina('tasks', 'list')
    expect([listed.code, listed.stdout]).toEqual([
      0,
      expect.stringMatching(/clean_titles +python[\s\S]*initials +typescript[\s\S]*segments +python/),
    ])
    const { items, problems } = JSON.parse((await vitrina('tasks', 'list', '--json')).stdout)
    expect(problems).toEqual([])
    expect(items.map((item: { name: string; doc: string }) => [item.name, item.doc])).toEqual([
      ['clean_titles', 'Titles without surrounding white space.'],
      ['initials', 'The first letter of each title.'],
      ['segments', ''],
    ])
    expect((await vitrina('apply', 'segments.yaml', '--yes')).stdout).toContain('✓ created')
    const ended = await vitrina('pipelines', 'run', 'films_with_segments', '--wait')
    expect([ended.code, ended.stderr]).toEqual([0, expect.anything()])
    const [wrong] = await database.query(`
      SELECT count(*)::int AS films,
             count(*) FILTER (WHERE m.title <> trim(f.title) OR m.initial <> left(m.title, 1)
               OR m.segment <> CASE WHEN length(m.title) > 12 THEN 'long' ELSE 'short' END)::int AS wrong
        FROM content.film_work f JOIN analytics.films_with_segments m ON m.film_id = f.id`)
    const [source] = await database.query('SELECT count(*)::int AS films FROM content.film_work')
    expect(wrong).toEqual({ ...source, wrong: 0 })
  })
})

describe('a run with a function that fails', () => {
  it('ends FAILED with the last line, a row and a hint, and has the traceback and the prints in its log', async () => {
    await write(
      'pipelines/python/fails.py',
      'from vitrina import task\n@task("fails")\ndef fails(rows):\n    print("so far", len(rows) > 0)\n    return [row["titel"] for row in rows]\n',
    )
    const { id } = await withTransform('fails')
    const ended = await run(stand().database, id)
    expect(ended).toMatchObject({
      status: 'FAILED',
      error_code: vtr('TRANSFORM_FAILED'),
      attempt: 3,
      rows_written: 0,
    })
    expect(ended.error).toMatch(
      /Transform "fails" failed at fails\.py:5: KeyError: 'titel'\. Row 1 of the batch: \{/,
    )
    expect(ended.error_hint).toContain('film_id, title')
    const lines = await waitFor(
      async () => {
        const log = await logOf(ended.id)
        return log.some(({ message }) => message === "KeyError: 'titel'") && log
      },
      { what: 'the log of the run' },
    )
    expect(lines).toEqual(
      expect.arrayContaining([
        { message: 'so far True', transform: 'fails' },
        { message: 'Traceback (most recent call last):', transform: 'fails' },
      ]),
    )
  })

  it('rejects a name that is not registered before anything is read or created', async () => {
    const { id, spec } = await withTransform('not_registered')
    expect(await run(stand().database, id)).toMatchObject({
      status: 'FAILED',
      error_code: vtr('TRANSFORM_UNKNOWN'),
      attempt: 1,
      rows_read: 0,
    })
    const [found] = await stand().database.query('SELECT to_regclass($1) AS mart', [spec.targetTable])
    expect(found).toEqual({ mart: null })
  })

  it('does not affect other pipelines, whatever it does, and a fixed file works at once', async () => {
    const bad = (body: string) =>
      `from vitrina import task\nimport os\n@task("worst")\ndef worst(rows):\n    ${body}\n`
    await write('pipelines/python/worst.py', bad('os._exit(9)'))
    const { database } = stand()
    const [worst, other] = [await withTransform('worst'), await withTransform('clean_titles')]
    const [died, fine] = await Promise.all([run(database, worst.id), run(database, other.id)])
    expect(died).toMatchObject({ status: 'FAILED', error_code: vtr('TRANSFORM_KILLED') })
    expect(died.error).toContain('exited with code 9')
    expect(fine.status).toBe('SUCCESS')
    await write('pipelines/python/worst.py', bad('return rows'))
    expect(await run(database, worst.id)).toMatchObject({ status: 'SUCCESS', rows_read: fine.rows_read })
  })
})

describe('a runner that is killed', () => {
  it('stops its hosts with it', async () => {
    const { database, folder } = stand()
    await write(
      'pipelines/python/waits.py',
      'from vitrina import task\nimport time\n@task("waits")\ndef waits(rows):\n    time.sleep(600)\n',
    )
    spawnVitrina(
      ['runner'],
      { DATABASE_URL: database.url, RUNNER_POLL_INTERVAL_MS: '50', RUNNER_LEASE_SECONDS: '3600' },
      { cwd: folder },
    )
    const { id } = await withTransform('waits')
    const hosts = () => descendantsOf(process.pid).filter(({ command }) => command.includes('vitrina_host'))
    // That of an earlier run may still be ending.
    const earlier = new Set(hosts().map(({ pid }) => pid))
    const runId = await requestRun(database, id)
    const host = await waitFor(async () => hosts().find(({ pid }) => !earlier.has(pid)), {
      what: 'the host to work',
    })
    // Whichever of the two runners has claimed it.
    process.kill(host.parent, 'SIGKILL')
    await waitFor(async () => !isAlive(host.pid), { what: 'the host to end' })
    await database.query("UPDATE etl.etl_pipelines SET status = 'FAILED' WHERE id = $1", [id])
    await runEnded(database, runId)
  })
})

import { describe, expect, it } from 'vitest'
import { runCommand } from '../support/commands.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'

interface Report {
  readonly ok: boolean
  readonly findings: readonly { check: string; status: string; detail: string; hint: string | null }[]
}

async function report(env: Record<string, string>, cwd?: string): Promise<{ code: number; report: Report }> {
  const { code, stdout } = await runCommand(['doctor', '--json'], { VITRINA_PORT: '0', ...env }, { cwd })
  return { code, report: JSON.parse(stdout) }
}

describe('vitrina doctor', () => {
  it('finds no problems in a configured cinema', async () => {
    const { url } = await aDatabase({ cinema: true })
    const { code, report: found } = await report({ DATABASE_URL: url })
    expect(found.findings.filter((finding) => finding.status === 'failed')).toEqual([])
    expect(found.findings.map((finding) => finding.check)).toEqual([
      ...['Node', 'settings', 'embedded PostgreSQL', 'database', 'version', 'migrations'],
      ...[
        'login reader',
        'login writer',
        'login meta',
        'statistics',
        'source content',
        'source ugc',
        'target analytics',
        'Python',
        'tasks',
        'task isolation',
        'ch: targets',
        'es: targets',
        's3: targets',
        'port',
      ],
    ])
    expect([code, found.ok]).toEqual([0, true])
  })

  it('reports missing objects in an empty database, with remedies', async () => {
    const { url } = await aDatabase({ migrated: false })
    const { code, report: found } = await report({ DATABASE_URL: url })
    expect([code, found.ok]).toEqual([1, false])
    const failed = found.findings.filter((finding) => finding.status === 'failed')
    expect(failed.map((finding) => finding.check)).toEqual(
      expect.arrayContaining(['migrations', 'source content', 'target analytics']),
    )
    for (const finding of failed) expect(finding.hint, finding.check).toBeTruthy()
  })

  it('prints a line with a mark for each check, and its hint below', async () => {
    const vitrina = await runCommand(['doctor'], {
      DATABASE_URL: 'postgres://etl@127.0.0.1:1/nothing',
      VITRINA_PORT: '0',
    })
    expect(vitrina.code).toBe(1)
    expect(vitrina.stdout).toMatch(/^✓ Node: /m)
    expect(vitrina.stdout).toMatch(/^✗ database: .*\n {2}→ /m)
  })

  it('reports invalid settings instead of failing', async () => {
    const { code, report: found } = await report({ RUNNER_CONCURRENCY: '0' })
    expect(code).toBe(1)
    expect(found.findings).toContainEqual(
      expect.objectContaining({
        check: 'settings',
        status: 'failed',
        detail: expect.stringContaining('RUNNER_CONCURRENCY'),
      }),
    )
  })

  it('reports how task functions are isolated', async () => {
    const { url } = await aDatabase({ cinema: true })
    const isolation = async (env: Record<string, string>) =>
      (await report({ DATABASE_URL: url, ...env })).report.findings.find(
        (finding) => finding.check === 'task isolation',
      )
    expect(await isolation({ VITRINA_TASK_ISOLATION: 'off' })).toMatchObject({
      status: 'warning',
      detail: expect.stringContaining('VITRINA_TASK_ISOLATION is off'),
    })
    // Without unshare in PATH no namespace can be created.
    const bare = { PATH: '/nowhere', VITRINA_TASK_ISOLATION: 'required' }
    expect(await isolation(bare)).toMatchObject({
      status: 'failed',
      hint: expect.stringContaining('unshare'),
    })
    expect(await isolation({ PATH: '/nowhere' })).toMatchObject({ status: 'warning' })
  })

  it('starts nothing: without a running embedded server there is no database to check', async () => {
    const { code, report: found } = await report({}, await aFolder())
    expect(code).toBe(0)
    expect(found.findings).toContainEqual(expect.objectContaining({ check: 'database', status: 'skipped' }))
  })
})

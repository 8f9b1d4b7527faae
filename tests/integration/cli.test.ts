import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { runCommand } from '../support/commands.js'
import { aDatabase } from '../support/database.js'
import { aFolder } from '../support/folders.js'
import { spawnVitrina } from '../support/processes.js'

describe('vitrina', () => {
  it.each([
    ['an unknown command', ['frobnicate']],
    ['an unknown option', ['up', '--frobnicate']],
    ['an invalid number', ['generate', '--films', 'many']],
    ['no command at all', []],
  ])('returns exit code 2 and help for %s', async (_, args) => {
    const { code, stdout, stderr } = await runCommand(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(/--help|Usage/)
  })

  it.each([['--version'], ['--help'], ['help', 'demo']])('returns exit code 0 for %s', async (...args) => {
    const { code, stdout } = await runCommand(args)
    expect(code).toBe(0)
    expect(stdout).not.toBe('')
  })

  it('ends its process with the exit code of the command', async () => {
    const [wrong, right] = [spawnVitrina(['frobnicate']), spawnVitrina(['--version'])]
    expect([await wrong.exited, await right.exited]).toEqual([2, 0])
    expect([wrong.stdout, right.stderr]).toEqual(['', ''])
  })

  it('reports all invalid settings at once, without a stack trace', async () => {
    const vitrina = await runCommand(['migrate'], { DATABASE_URL: 'mysql://x', RUNNER_CONCURRENCY: 'many' })
    expect(vitrina.code).toBe(1)
    expect(vitrina.stderr).toMatch(/VTR-1001 SETTING_INVALID: .*DATABASE_URL.*RUNNER_CONCURRENCY/)
    expect(vitrina.stderr).toContain('→ Correct the environment or .env')
    expect(vitrina.stderr).not.toMatch(/\n\s+at /)
  })

  it('reports an unreachable database, with a stack trace only at LOG_LEVEL=debug', async () => {
    const env = { DATABASE_URL: 'postgres://etl:secret@127.0.0.1:1/nothing' }
    const vitrina = await runCommand(['migrate'], env)
    expect(vitrina.code).toBe(1)
    expect(vitrina.stderr).toMatch(/VTR-9001 DATABASE_UNAVAILABLE/)
    expect(vitrina.stderr).not.toMatch(/\n\s+at |secret/)
    const debugging = await runCommand(['migrate'], { ...env, LOG_LEVEL: 'debug' })
    expect(debugging.stderr).toMatch(/\n\s+at /)
  })

  it('reports a wrong password with the setting to check', async () => {
    const url = new URL((await aDatabase({ migrated: false })).url)
    url.password = 'wrong'
    const vitrina = await runCommand(['migrate'], { DATABASE_URL: url.href })
    expect(vitrina.code).toBe(1)
    expect(vitrina.stderr).toMatch(/DATABASE_ERROR: .*28P01.*\n.*DATABASE_URL/)
  })

  it('reads .env of the working folder, and gives precedence to the environment', async () => {
    const [folder, database] = [await aFolder(), await aDatabase({ migrated: false })]
    await writeFile(join(folder, '.env'), `DATABASE_URL=${database.url}\nLOG_LEVEL=nonsense\n`)
    const wrong = await runCommand(['migrate'], {}, { cwd: folder })
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain('LOG_LEVEL')
    const right = await runCommand(['migrate'], { LOG_LEVEL: 'info' }, { cwd: folder })
    expect(right.code).toBe(0)
    expect(await database.query('SELECT FROM etl.etl_pipelines')).toEqual([])
  })
})

describe('a file or folder that cannot be used', () => {
  const expectRemedy = ({ code, stderr }: { code: number; stderr: string }, expected: RegExp) => {
    expect([code, stderr]).toEqual([1, expect.stringMatching(expected)])
    expect(stderr).not.toMatch(/INTERNAL|LOG_LEVEL|ENOTDIR|EEXIST|EISDIR|\n\s+at /)
  }

  it('is reported with its path and a remedy: .env', async () => {
    const folder = await aFolder()
    await mkdir(join(folder, '.env'))
    const ended = await runCommand(['migrate'], {}, { cwd: folder })
    expectRemedy(ended, /SETTING_INVALID: The settings in .*\.env cannot be read: .*\n {2}→ .*another folder/)
  })

  it('is reported with its path and a remedy: VITRINA_HOME', async () => {
    const [folder, database] = [await aFolder(), await aDatabase()]
    await writeFile(join(folder, 'file'), '')
    const env = { DATABASE_URL: database.url, VITRINA_HOME: 'file', VITRINA_PORT: '0' }
    const ended = await runCommand(['api'], env, { cwd: folder })
    expectRemedy(ended, /SETTING_INVALID: .*token cannot be stored in .*file.*\n {2}→ .*VITRINA_HOME/)
  })

  it('is reported with its path and a remedy: the contexts', async () => {
    const folder = await aFolder()
    await writeFile(join(folder, 'file'), '')
    const env = { XDG_CONFIG_HOME: join(folder, 'file') }
    const listed = await runCommand(['context', 'list'], env, { cwd: folder })
    const added = await runCommand(['context', 'add', 'one', '--url', 'http://localhost:1'], env, {
      cwd: folder,
    })
    for (const ended of [listed, added])
      expectRemedy(ended, /CONTEXT_UNKNOWN: The contexts .* cannot be (read|saved)/)
  })
})

describe('an address whose login is a parameter', () => {
  it('leaves API, runner and reader their own logins', async () => {
    const database = await aDatabase()
    const url = new URL(database.url)
    const { username, password } = url
    url.username = ''
    url.password = ''
    url.search = `?user=${username}&password=${password}`
    const { code, stdout } = await runCommand(['doctor'], { DATABASE_URL: url.href, VITRINA_PORT: '0' })
    for (const login of ['reader', 'writer', 'meta'])
      expect(stdout).toContain(`✓ login ${login}: vitrina_${login} can connect`)
    expect([code, stdout]).toEqual([expect.any(Number), expect.not.stringContaining(password)])
  })
})

describe('a port in use', () => {
  it('stops the API with an error that names it', async () => {
    const [folder, database] = [await aFolder(), await aDatabase()]
    const taken = await aListener()
    const api = spawnVitrina(
      ['api'],
      { DATABASE_URL: database.url, VITRINA_PORT: String(taken) },
      { cwd: folder },
    )
    expect(await api.exited).toBe(1)
    expect(api.stderr).toMatch(new RegExp(`VTR-1004 PORT_TAKEN: .*127.0.0.1:${taken}.*\\n.*VITRINA_PORT`))
  })
})

async function aListener(): Promise<number> {
  const server = createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

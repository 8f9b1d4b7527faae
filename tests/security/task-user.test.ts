import { spawnSync } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, type TestContext } from 'vitest'
import { readSettings } from '../../src/config/settings.js'
import { createTransforms } from '../../src/transforms/index.js'
import { columnsOfTexts, someTasks } from '../support/tasks.js'

const HOST = fileURLToPath(new URL('../../python/vitrina_host.py', import.meta.url))
/** Of the system: one in the home of root is not for others. */
const PYTHON = '/usr/bin/python3'
const NOBODY = { uid: 65_534, gid: 65_534 }
const USER = { VITRINA_TASK_USER: `${NOBODY.uid}:${NOBODY.gid}`, VITRINA_PYTHON: PYTHON }
const COLUMNS = columnsOfTexts('id bigint', 'title text')

const FILES = {
  'python/look.py': `
import os
from vitrina import task

@task("look_python")
def look(rows):
    try:
        text = open(rows[0]["title"]).read()
    except OSError as error:
        text = error.strerror
    return [{"id": os.getuid(), "title": text}]
`,
  'typescript/look.ts': `
import { readFileSync } from 'node:fs'
import { task, type Row } from 'vitrina'

task('look_typescript', (rows: Row[]) => {
  let text = ''
  try {
    text = readFileSync(rows[0]!.title, 'utf8')
  } catch (error) {
    text = (error as { code: string }).code
  }
  return [{ id: process.getuid!(), title: text }]
})
`,
}

function requireAccounts({ skip }: TestContext): void {
  if (process.getuid?.() !== 0) skip('only root can start processes of another account')
  const { status } = spawnSync('test', ['-r', HOST, '-a', '-x', PYTHON, '-a', '-x', process.execPath], NOBODY)
  if (status !== 0) skip('another account cannot read this clone, or run Python and Node')
}

describe('VITRINA_TASK_USER', () => {
  it('keeps functions from files of the account that runs Vitrina', async (context) => {
    requireAccounts(context)
    const tasks = await someTasks(FILES, USER)
    const secret = join(tasks.folder, '.env')
    await writeFile(secret, 'DATABASE_URL=postgres://…', { mode: 0o600 })
    await chmod(tasks.folder, 0o755)
    for (const name of ['look_python', 'look_typescript']) {
      const [row] = await tasks.run(name, COLUMNS, [['1', secret]])
      expect([name, row]).toEqual([
        name,
        [String(NOBODY.uid), expect.stringMatching(/EACCES|Permission denied/)],
      ])
    }
    // Without it they can: that is what it is for.
    const own = await someTasks(FILES)
    for (const name of ['look_python', 'look_typescript'])
      expect(await own.run(name, COLUMNS, [['1', secret]])).toEqual([['0', 'DATABASE_URL=postgres://…']])
  })

  it('names the folder that the account cannot read', async (context) => {
    requireAccounts(context)
    const tasks = await someTasks(FILES, USER)
    await chmod(tasks.folder, 0o700)
    const { problems } = await tasks.hosts.list()
    expect(problems.map(({ message }) => message)).toEqual([
      expect.stringContaining(`cannot read ${join(tasks.folder, 'python')}`),
      expect.stringContaining(`cannot read ${join(tasks.folder, 'typescript')}`),
    ])
  })

  it('refuses root, an unknown account, and any account where Vitrina is not root', () => {
    const open = (user: string) => () => createTransforms(readSettings({ VITRINA_TASK_USER: user }))
    for (const user of ['root', '0:0', 'no_such_account'])
      expect(open(user)).toThrow(expect.objectContaining({ code: 'SETTING_INVALID' }))
  })
})

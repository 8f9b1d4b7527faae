import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { columnsOfTexts, someTasks } from '../../tests/support/tasks.js'

const COLUMNS = columnsOfTexts('id bigint', 'title text')
const PLAIN = `
from vitrina import task

@task("upper", adds={"size": "int4"}, drops=["raw"])
def upper(rows, *, cut: int = 3):
    """Writes titles large.

    And more.
    """
    return [{**row, "size": 1} for row in rows]
`

describe('the list of transforms', () => {
  it('lists name, language, signature, docstring, place, columns', async () => {
    const tasks = await someTasks({
      'python/a.py': PLAIN,
      'typescript/b.ts': `import { task } from 'vitrina'
/** Trims titles. */
task('trim', { adds: { size: 'timestamptz(3)[]' } }, async function trim(rows: object[]) {
  return rows
})`,
    })
    expect(await tasks.hosts.list()).toEqual({
      items: [
        {
          name: 'trim',
          language: 'typescript',
          signature: 'trim(rows)',
          doc: 'Trims titles.',
          file: 'b.ts:3',
          adds: { size: 'timestamp(3) with time zone[]' },
          drops: [],
        },
        {
          name: 'upper',
          language: 'python',
          signature: 'upper(rows, *, cut: int = 3)',
          doc: 'Writes titles large.\n\nAnd more.',
          file: 'a.py:4',
          adds: { size: 'integer' },
          drops: ['raw'],
        },
      ],
      problems: [],
    })
  })

  it('is empty without a folder', async () => {
    const tasks = await someTasks({})
    expect(await tasks.hosts.list()).toEqual({ items: [], problems: [] })
  })

  it('continues after files that cannot be loaded, whatever they do, and reports the problem of each', async () => {
    const tasks = await someTasks({
      'python/a_syntax.py': 'def broken(:\n',
      'python/b_import.py': 'import nothing_of_this_name\n',
      'python/c_exit.py': 'import sys\nsys.exit(1)\n',
      'python/d_gone.py': 'import os\nos._exit(5)\n',
      'python/e_forks.py': 'import os\nos.fork()\n',
      'python/f_async.py': 'from vitrina import task\n@task("x")\nasync def x(rows): return rows\n',
      'python/g_adds.py': 'from vitrina import task\n@task("x", adds=["a"])\ndef x(rows): return rows\n',
      'python/h_type.py':
        'from vitrina import task\n@task("bad", adds={"a": "text); DROP TABLE x"})\ndef x(rows): return rows\n',
      'python/i_name.py': 'from vitrina import task\n@task("../etc")\ndef x(rows): return rows\n',
      'python/z_good.py': PLAIN,
      'typescript/a.ts': 'const x: = 5\n',
      'typescript/b.ts': 'process.exit(3)\n',
      'typescript/c.ts': "import './missing.js'\n",
      'typescript/d.mjs': "import { task } from 'vitrina'\ntask('good_too', (rows) => rows)\n",
    })
    const { items, problems } = await tasks.hosts.list()
    expect(items.map(({ name }) => name)).toEqual(['good_too', 'upper'])
    expect(Object.fromEntries(problems.map(({ file, message }) => [file, message]))).toEqual({
      'a_syntax.py': expect.stringMatching(/^SyntaxError: .*\(line 1\)$/),
      'b_import.py': "ModuleNotFoundError: No module named 'nothing_of_this_name' (line 1)",
      'c_exit.py': 'SystemExit: 1 (line 2)',
      'd_gone.py': 'The host exited with code 5 while loading it.',
      'e_forks.py': expect.stringContaining('must not start processes'),
      'f_async.py': expect.stringContaining('x is async'),
      'g_adds.py': expect.stringContaining('must be a dict of column: type'),
      'h_type.py:2': expect.stringContaining('which is not a type'),
      'i_name.py:2': expect.stringContaining('is not a valid task name'),
      'a.ts': expect.stringContaining('SyntaxError'),
      'b.ts': 'The host exited with code 3 while loading it.',
      'c.ts': expect.stringContaining('missing.js'),
    })
  })

  it('registers neither of two functions with the same name, and reports both places, also across languages', async () => {
    const tasks = await someTasks({
      'python/a.py': 'from vitrina import task\n@task("same")\ndef a(rows): return rows\n',
      'python/sub/b.py': 'from vitrina import task\n@task("same")\ndef b(rows): return rows\n',
      'python/c.py': 'from vitrina import task\n@task("both")\ndef c(rows): return rows\n',
      'typescript/d.js': "import { task } from 'vitrina'\ntask('both', (rows) => rows)\n",
    })
    const { items, problems } = await tasks.hosts.list()
    expect(items).toEqual([])
    expect(problems.map(({ message }) => message)).toEqual([
      '"same" is registered more than once: a.py:2 (python), sub/b.py:2 (python).',
      '"both" is registered more than once: c.py:2 (python), d.js:2 (typescript).',
    ])
    await expect(tasks.open('same', COLUMNS)).rejects.toMatchObject({
      code: 'TRANSFORM_UNKNOWN',
      message: expect.stringContaining('is registered more than once'),
    })
  })

  it('registers functions from several folders, also from files with the same name', async () => {
    const tasks = await someTasks({})
    const file = (name: string) =>
      `from vitrina import task\n@task("${name}")\ndef f(rows):\n    return [{**r, "title": r["title"] + "${name}"} for r in rows]\n`
    await tasks.write('ours/tasks.py', file('ours'))
    await tasks.write('theirs/tasks.py', file('theirs'))
    const folders = ['ours', 'theirs', 'nobodys'].map((name) => join(tasks.folder, name)).join(', ')
    const both = await someTasks({}, { VITRINA_PYTHON_TASKS: folders })
    const { items, problems } = await both.hosts.list()
    expect([items.map(({ name, file }) => [name, file]), problems]).toEqual([
      [
        ['ours', 'tasks.py:2'],
        ['theirs', 'tasks.py:2'],
      ],
      [],
    ])
    expect(await both.run(['ours', 'theirs', 'ours'], COLUMNS, [['1', '+']])).toEqual([
      ['1', '+ourstheirsours'],
    ])
  })

  it('supports helpers, packages, unusual names and files named like modules of Python', async () => {
    const tasks = await someTasks({
      'python/random.py': `from vitrina import task
import tempfile, random
@task("имя-1")
def named(rows):
    return [{**row, "title": "%s %s" % (random.__name__, hasattr(random, "randint"))} for row in rows]`,
      'python/my-tasks.py': `import _helper
from vitrina import task
from pack import inner
@task
def bare(rows): return _helper.same(rows)
@task()
def also_bare(rows): return inner.same(rows)`,
      'python/_helper.py': 'def same(rows): return rows',
      'python/pack/__init__.py': '',
      'python/pack/inner.py': `from vitrina import task
from . import other
@task("inner")
def same(rows): return other.same(rows)`,
      'python/pack/other.py': 'def same(rows): return rows',
      'python/venv/pyvenv.cfg': '',
      'python/venv/lib/broken.py': 'raise SystemExit',
      'typescript/node_modules/x/index.js': 'throw new Error()',
      'typescript/types.d.ts': 'nonsense',
    })
    const { items, problems } = await tasks.hosts.list()
    expect(problems).toEqual([])
    expect(items.map(({ name, file }) => `${name} ${file}`)).toEqual([
      'also_bare my-tasks.py:6',
      'bare my-tasks.py:4',
      'inner pack/inner.py:3',
      'имя-1 random.py:3',
    ])
    const rows = [['1', 'x']]
    for (const name of ['bare', 'also_bare', 'inner'])
      expect(await tasks.run(name, COLUMNS, rows)).toEqual(rows)
    expect(await tasks.run('имя-1', COLUMNS, rows)).toEqual([['1', 'random True']])
  })
})

describe('a name that is not registered', () => {
  it('is refused before a host is started, with the nearest one', async () => {
    const tasks = await someTasks({ 'python/a.py': PLAIN, 'python/b.py': 'import nope\n' })
    await expect(tasks.open(['uper', 'upper', 'other'], COLUMNS)).rejects.toMatchObject({
      code: 'TRANSFORM_UNKNOWN',
      message:
        'No transform is registered as "uper". Did you mean "upper"? No transform is registered as "other".',
      hint: expect.stringContaining(
        "1 files have problems, first b.py: ModuleNotFoundError: No module named 'nope'",
      ),
      facts: { unknown: [{ transform: 'uper' }, { transform: 'other' }] },
    })
  })
})

describe('files that change', () => {
  it('are read again by the next run, and by the list, without a restart (R4.9)', async () => {
    const version = (text: string) =>
      `from vitrina import task\n@task("mark")\ndef mark(rows): return [{**r, "title": "${text}"} for r in rows]\n`
    const tasks = await someTasks({ 'python/a.py': version('one') })
    const rows = [['1', 'x']]
    expect(await tasks.run('mark', COLUMNS, rows)).toEqual([['1', 'one']])
    await tasks.write('python/a.py', version('two'))
    expect(await tasks.run('mark', COLUMNS, rows)).toEqual([['1', 'two']])
    await tasks.write(
      'typescript/b.ts',
      "import { task } from 'vitrina'\ntask('mark_ts', (rows: any[]) => rows.map((r) => ({ ...r, title: 'ts' })))\n",
    )
    expect(await tasks.run(['mark', 'mark_ts'], COLUMNS, rows)).toEqual([['1', 'ts']])
    await rm(join(tasks.folder, 'python/a.py'))
    expect((await tasks.hosts.list()).items.map(({ name }) => name)).toEqual(['mark_ts'])
  })
})

describe('columns', () => {
  it('that a query has twice are refused: a row could hold only one of them', async () => {
    const tasks = await someTasks({ 'python/a.py': PLAIN })
    await expect(tasks.open('upper', columnsOfTexts('id bigint', 'id bigint'))).rejects.toMatchObject({
      code: 'PIPELINE_INVALID',
    })
  })

  it('may have any name', async () => {
    const names = ['id', '__proto__', 'a b', `'"\\`, 'ключ', 'constructor', '{x}']
    const tasks = await someTasks({
      'python/a.py':
        'from vitrina import task\n@task("p")\ndef p(rows): return [dict(row) for row in rows]\n',
      'typescript/b.js': "import { task } from 'vitrina'\ntask('t', (rows) => rows.slice())\n",
    })
    const columns = names.map((name) => ({ ...COLUMNS[1]!, name }))
    const rows = [names.map((_, n) => String(n))]
    expect(await tasks.run(['p', 't'], columns, rows)).toEqual(rows)
  })
})

import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  COLUMNS,
  GOOD,
  HEAD,
  python,
  pythonTask,
  ROWS,
  taskFailure,
} from '../../../tests/support/python-tasks.js'
import { columnsOfTexts, someTasks } from '../../../tests/support/tasks.js'
import { RowBatch } from '../../sql/row-batch.js'

describe('a Python function (R4.9)', () => {
  it('may change, drop and add rows', async () => {
    const tasks = await someTasks(
      python(
        pythonTask('more', 'return [row for row in rows if row["title"]] + [{"id": 9, "title": "Nine"}]'),
        pythonTask('later', 'yield from ({**row, "id": row["id"] * 10} for row in rows)'),
      ),
    )
    expect(await tasks.run(['more', 'later'], COLUMNS, ROWS)).toEqual([
      ['10', ' One '],
      ['20', ' Two '],
      ['90', 'Nine'],
    ])
  })

  it('adds, changes and drops columns that it declares', async () => {
    const tasks = await someTasks({
      'python/shape.py': `${HEAD}
@task("shape", adds={"segment": "text", "id": "numeric(10,2)", "tags": "text[]"}, drops=["title"])
def shape(rows):
    return [{"id": row["id"] / 4, "segment": "s%d" % row["id"], "tags": ["a b", None]} for row in rows]`,
    })
    const chain = await tasks.open('shape', COLUMNS)
    expect(chain.columns.map(({ name, type }) => `${name} ${type}`)).toEqual([
      'id numeric(10,2)',
      'segment text',
      'tags text[]',
    ])
    expect((await chain.run(RowBatch.ofRows([['1', 'x']]))).rows).toEqual([['0.25', 's1', '{"a b",NULL}']])
    await chain.close()
  })

  it('is not called without rows, also when an earlier task has dropped them all', async () => {
    const tasks = await someTasks(
      python(pythonTask('none', 'return []'), pythonTask('first', 'return [rows[0]]')),
    )
    const chain = await tasks.open(['none', 'first'], COLUMNS)
    expect((await chain.run(RowBatch.NONE)).count).toBe(0)
    expect((await chain.run(RowBatch.ofRows(ROWS))).rows).toEqual([])
    await chain.close()
  })

  it('returns batches in the order in which they arrived, including 100,000 rows and a batch that fails', async () => {
    const tasks = await someTasks(
      python(pythonTask('picky', 'if rows[0]["id"] == 3: raise ValueError("three")', 'return rows')),
    )
    const chain = await tasks.open('picky', COLUMNS)
    const order: string[] = []
    const batches = [1, 2, 3, 4, 5].map((n) =>
      RowBatch.ofRows(Array.from({ length: n === 4 ? 100_000 : 10 }, () => [String(n), `row of ${n}`])),
    )
    await Promise.all(
      batches.map((batch, n) =>
        chain.run(batch).then(
          (rows) => order.push(`${n + 1}: ${rows.count} ${rows.bytes.equals(batch.bytes)}`),
          (error) => order.push(`${n + 1}: ${error.code}`),
        ),
      ),
    )
    expect(order).toEqual(['1: 10 true', '2: 10 true', '3: TRANSFORM_FAILED', '4: 100000 true', '5: 10 true'])
    await chain.close()
  })

  it('sees neither credentials nor anything else of the runner in its environment', async () => {
    process.env.DATABASE_URL = 'postgres://user:secret@nowhere/db'
    process.env.VITRINA_API_TOKEN = 'a-token-that-is-secret'
    try {
      const tasks = await someTasks(python(pythonTask('look', 'print(sorted(os.environ))', 'return rows')))
      await tasks.run('look', COLUMNS, ROWS)
      expect(tasks.output[0]).toMatch(
        /^look: \['HOME', 'LANG', 'PATH',( 'TMPDIR',)? 'TZ', 'VITRINA_TASK_HOST'\]$/,
      )
    } finally {
      delete process.env.DATABASE_URL
      delete process.env.VITRINA_API_TOKEN
    }
  })
})

describe('what a Python function prints', () => {
  it('is logged line by line with its function, at every level, and cannot corrupt a response', async () => {
    const tasks = await someTasks({
      'python/loud.py': `${HEAD}import logging, subprocess
print("while loading")
@task("one")
def one(rows):
    print("π → one", end="")
    sys.stderr.write("to stderr\\n")
    return rows
@task("two")
def two(rows):
    os.write(1, b"\\x00\\xff raw bytes\\n\\n")
    logging.warning("a warning")
    print("\\x01 end", flush=True)
    print(input() if sys.stdin.readable() and False else sys.stdin.read() == "")
    return rows`,
    })
    expect(await tasks.run(['one', 'two'], COLUMNS, ROWS)).toEqual(ROWS)
    expect(tasks.output).toEqual(
      expect.arrayContaining([
        'one: while loading',
        'one: π → one',
        'one: to stderr',
        'two: \0\ufffd raw bytes',
        'two: WARNING:root:a warning',
        'two: \x01 end',
        'two: True',
      ]),
    )
    expect(tasks.output).toHaveLength(7)
  })

  it('is bounded for each batch, in lines and in their length', async () => {
    const tasks = await someTasks(
      python(pythonTask('chatty', 'print("x" * 5_000_000)', 'for n in range(5000): print(n)', 'return rows')),
    )
    await tasks.run('chatty', COLUMNS, ROWS)
    expect(tasks.output).toHaveLength(201)
    expect(tasks.output[0]).toBe(`chatty: ${'x'.repeat(2_000)}…`)
    expect(tasks.output.at(-1)).toBe('chatty: … 4801 more lines')
  })

  it('cannot break it by closing or replacing streams and descriptors', async () => {
    const tasks = await someTasks(
      python(
        pythonTask(
          'closer',
          'import io, json, decimal, threading',
          'sys.stdout.close(); sys.stderr = io.StringIO(); os.close(2)',
          'os.closerange(0, 150)',
          'json.dumps = json.loads = json.JSONEncoder = decimal.Decimal = None',
          'decimal.getcontext().prec = 2 if hasattr(decimal, "getcontext") else 2',
          'os.read = os.write = os.readv = os.getpid = None',
          'sys.setrecursionlimit(200); os.chdir("/")',
          'threading.Thread(target=lambda: time.sleep(60), daemon=False).start()',
          'open("/dev/null"); return rows',
        ),
      ),
    )
    const chain = await tasks.open('closer', columnsOfTexts('id bigint', 'price numeric'))
    const rows = [['1', '1234567.50']]
    expect((await chain.run(RowBatch.ofRows(rows))).rows).toEqual(rows)
    await chain.close()
  })
})

describe('a Python function that is clumsy', () => {
  it('does not corrupt its rows or the next batch with threads, signals, bytes or its own classes', async () => {
    const tasks = await someTasks(
      python(
        pythonTask(
          'noise',
          'import threading',
          'def go():',
          '    while True: print("noise"); time.sleep(0.001)',
          'threading.Thread(target=go, daemon=True).start()',
          'for row in rows: yield row',
        ),
        pythonTask(
          'alarm',
          'import signal',
          'signal.signal(signal.SIGALRM, lambda *_: None)',
          'signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)',
          'return tuple(rows)',
        ),
        pythonTask(
          'raw',
          'os.write(1, b"\\xff\\x80"); sys.stdout.buffer.write(b"\\xe2\\x82")',
          'return iter(rows)',
        ),
        pythonTask(
          'classes',
          'class Text(str):',
          '    def __str__(self): raise ValueError("no text")',
          '    encode = __str__',
          'class Number(int):',
          '    def __str__(self): return "no number"',
          '    __repr__ = __str__',
          'return [{"id": Number(row["id"]), "title": row["title"] and Text(row["title"])} for row in rows]',
        ),
      ),
    )
    const chain = await tasks.open(['noise', 'alarm', 'raw', 'classes'], COLUMNS)
    for (let batch = 0; batch < 3; batch++)
      expect((await chain.run(RowBatch.ofRows(ROWS))).rows).toEqual(ROWS)
    await chain.close()
  })
})

describe('a Python function that raises', () => {
  it('gives its last line, the place, the row and a hint; the traceback goes to the log; the host lives on', async () => {
    const tasks = await someTasks(
      python(pythonTask('fails', 'return [{**row, "title": row["title"].strip()} for row in rows]'), GOOD),
    )
    const failure = await taskFailure(tasks, 'fails')
    expect(failure).toMatchObject({ code: 'TRANSFORM_FAILED', class: 'retry' })
    expect(failure.message).toBe(
      `Transform "fails" failed at tasks.py:6: AttributeError: 'NoneType' object has no attribute 'strip'.` +
        ` Row 3 of the batch: {'id': 3, 'title': None}`,
    )
    expect(failure.hint).toContain('NULL')
    expect(tasks.output).toEqual(
      expect.arrayContaining([
        'fails: Traceback (most recent call last):',
        expect.stringMatching(/^fails: {3}File ".*tasks\.py", line 6, in fails$/),
        `fails: AttributeError: 'NoneType' object has no attribute 'strip'`,
      ]),
    )
    expect(tasks.output.join('\n')).not.toContain('_host.py')
  })

  it('names the columns when a key is missing, and the nearest of them', async () => {
    const tasks = await someTasks(
      python(pythonTask('fails', 'return [{**row, "x": row["titles"]} for row in rows]'), GOOD),
    )
    const failure = await taskFailure(tasks, 'fails')
    expect(failure.message).toContain(`KeyError: 'titles'. Row 1 of the batch: {'id': 1, 'title': ' One '}`)
    expect(failure.hint).toContain('The rows have the columns id, title. Did you mean "title"?')
  })

  it('is limited, whatever the depth of the recursion and the text of the error', async () => {
    const tasks = await someTasks(
      python(
        pythonTask('deep', 'return deep(rows)'),
        pythonTask('long', 'raise ValueError("x" * 10_000_000)'),
        pythonTask(
          'evil',
          'class E(Exception):',
          '    def __str__(self): raise RuntimeError("no")',
          'raise E()',
        ),
        pythonTask('wide', 'rows[0]["title"] = "y" * 10_000_000', 'raise KeyError("no")'),
        GOOD,
      ),
    )
    for (const [name, text] of Object.entries({
      deep: 'RecursionError',
      long: 'xxx',
      evil: 'E',
      wide: 'KeyError',
    })) {
      const failure = await taskFailure(tasks, name)
      expect([name, failure.code, failure.message.includes(text)]).toEqual([name, 'TRANSFORM_FAILED', true])
      expect(failure.message.length).toBeLessThan(2_500)
    }
    expect(tasks.output.join('\n').length).toBeLessThan(60_000)
  })
})

describe('the interpreter', () => {
  it('that is missing is a problem in the list, and refuses a run', async () => {
    const tasks = await someTasks(python(GOOD), { VITRINA_PYTHON: '/nowhere/python3' })
    const { items, problems } = await tasks.hosts.list()
    expect(items).toEqual([])
    expect(problems[0]!.message).toContain('"/nowhere/python3" cannot be started')
    await expect(tasks.open('good', COLUMNS)).rejects.toMatchObject({ code: 'TRANSFORM_HOST_MISSING' })
  })

  it('that is not Python, or too old, is reported', async () => {
    const tasks = await someTasks(python(GOOD), { VITRINA_PYTHON: '/bin/true' })
    expect((await tasks.hosts.list()).problems[0]!.message).toContain('is not a Python interpreter')
  })

  it('may be 3.9, whose standard library reads less', async ({ skip }) => {
    const oldest = await findOldest()
    if (oldest === null) return skip('there is no Python 3.9 on this machine')
    const tasks = await someTasks(
      python(
        pythonTask(
          'shift',
          'import datetime as d',
          'return [{**r, "at": r["at"] + d.timedelta(seconds=1)} for r in rows]',
        ),
      ),
      { VITRINA_PYTHON: oldest },
    )
    const columns = columnsOfTexts('at timestamp with time zone', 'clock time without time zone')
    const rows = [['2024-02-29 23:59:59.12+00', '10:00:00.5']]
    expect(await tasks.run('shift', columns, rows)).toEqual([['2024-03-01 00:00:00.12+00', '10:00:00.5']])
  })
})

/** Where distributions and pyenv put it. */
async function findOldest(): Promise<string | null> {
  const versions = join(homedir(), '.pyenv/versions')
  const managed = await readdir(versions).catch(() => [])
  const candidates = [
    ...managed.filter((name) => name.startsWith('3.9.')).map((name) => join(versions, name, 'bin/python3')),
    'python3.9',
  ]
  for (const candidate of candidates) {
    const { stdout } = await promisify(execFile)(candidate, ['--version']).catch(() => ({ stdout: '' }))
    if (stdout.startsWith('Python 3.9')) return candidate
  }
  return null
}

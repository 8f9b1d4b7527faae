import { describe, expect, it } from 'vitest'
import { processesWith } from '../../../tests/support/proc.js'
import { COLUMNS, GOOD, python, pythonTask, ROWS, taskFailure } from '../../../tests/support/python-tasks.js'
import { columnsOfTexts, someTasks } from '../../../tests/support/tasks.js'
import { waitFor } from '../../../tests/support/wait.js'
import { RowBatch } from '../../sql/row-batch.js'
import { HOST_MARKER } from '../leftover-processes.js'

interface Fault {
  readonly body: string[]
  /** The message. */
  readonly message: RegExp
}

const ENDLESS: Record<string, Fault> = {
  prints_for_ever: { body: ['while True: print("x" * 50)'], message: /limit of 2 s/ },
  stops_itself: {
    body: ['import signal', 'os.kill(os.getpid(), signal.SIGSTOP)'],
    message: /limit of 2 s/,
  },
  hangs: {
    body: ['while True: pass'],
    message: /"hangs" exceeded the limit of 2 s for one batch and was killed/,
  },
  hangs_in_c: { body: ['import re', 're.match(r"(a+)+$", "a" * 64 + "b")'], message: /limit of 2 s/ },
  sleeps_deaf: {
    body: ['import signal', 'for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)', 'time.sleep(600)'],
    message: /limit of 2 s/,
  },
  endless: {
    body: ['while True: yield {"id": 1, "title": "x"}'],
    message: /more than 256 MB of memory|limit of 2 s/,
  },
}

const HOSTILE: Record<string, Fault> = {
  writes_everywhere: {
    body: [
      'for fd in range(3, 400):',
      '    try: os.write(fd, b"\\xff" * 100)',
      '    except OSError: pass',
      'return rows',
    ],
    message: /"writes_everywhere" sent an invalid answer/,
  },
  forges_answers: {
    body: [
      'header = b\'{"op": "loaded"}\'',
      'for fd in range(3, 400):',
      '    try: os.write(fd, len(header).to_bytes(4, "big") + bytes(4) + header)',
      '    except OSError: pass',
      'return rows',
    ],
    message: /"forges_answers" sent an invalid answer/,
  },
  exits: { body: ['sys.exit(3)'], message: /"exits" ended its host: SystemExit: 3/ },
  quits: { body: ['os._exit(7)'], message: /exited with code 7 in the middle of a batch/ },
  quits_in_a_thread: {
    body: ['import threading', 'threading.Thread(target=lambda: os._exit(5)).start()', 'time.sleep(1)'],
    message: /exited with code 5 in the middle of a batch/,
  },
  segfaults: { body: ['import ctypes', 'ctypes.string_at(0)'], message: /ended by signal SIGSEGV/ },
  kills_itself: { body: ['os.kill(os.getpid(), 9)'], message: /ended by signal SIGKILL/ },
  kills_runner: { body: ['os.kill(os.getppid(), 9)'], message: /must not send signals to other processes/ },
  forks: { body: ['os.fork()', 'return rows'], message: /must not start processes \(os\.fork\)/ },
  bombs: { body: ['while True: os.fork()'], message: /must not start processes/ },
  shells: { body: ['os.system("sleep 100 &")', 'return rows'], message: /os\.system/ },
  spawns: { body: ['import subprocess', 'subprocess.run(["sleep", "100"])'], message: /subprocess\.Popen/ },
  eats_memory: {
    body: ['x = []', 'while True: x.append(bytearray(10_000_000))'],
    message: /more than 256 MB of memory/,
  },
  eats_memory_at_once: {
    body: ['x = "x" * 4_000_000_000', 'return rows'],
    message: /more than 256 MB of memory/,
  },
  closes_all: {
    body: ['os.closerange(0, 4096)', 'return rows'],
    message: /The host of transform "closes_all" .* in the middle of a batch/,
  },
}

const MEMORY = { VITRINA_TASK_MEMORY_MB: '256' }

describe('a Python function that misbehaves is killed and reported, and the next one works', () => {
  // At once: each takes its two seconds.
  it('when it does not end, whatever it does meanwhile', async () => {
    const functions = Object.entries(ENDLESS).map(([name, { body }]) => pythonTask(name, ...body))
    const limits = { ...MEMORY, VITRINA_TASK_TIMEOUT_SECONDS: '2' }
    const tasks = await someTasks(python(...functions, GOOD), limits)
    const failures = Object.keys(ENDLESS).map(async (name) => {
      const { code, message } = await taskFailure(tasks, name)
      return [name, code, message]
    })
    expect(await Promise.all(failures)).toEqual(
      Object.entries(ENDLESS).map(([name, { message }]) => [
        name,
        'TRANSFORM_KILLED',
        expect.stringMatching(message),
      ]),
    )
  })

  for (const [name, { body, message }] of Object.entries(HOSTILE))
    it(`when it ${name.replaceAll('_', ' ')}`, async () => {
      const tasks = await someTasks(python(pythonTask(name, ...body), GOOD), MEMORY)
      const failure = await taskFailure(tasks, name)
      expect(failure.code).toBe('TRANSFORM_KILLED')
      expect(failure.message).toMatch(message)
    })

  it('and leaves no process behind, not even one that left its group', async () => {
    const forked = pythonTask(
      'stray',
      'import ctypes',
      'libc = ctypes.CDLL(None)',
      'if libc.fork() == 0:',
      '    os.setsid()',
      '    if libc.fork() == 0: time.sleep(600)',
      'print("host", os.environ["VITRINA_TASK_HOST"])',
      'return rows',
    )
    const tasks = await someTasks(python(forked, GOOD))
    const chain = await tasks.open('stray', COLUMNS)
    expect((await chain.run(RowBatch.ofRows(ROWS))).rows).toEqual(ROWS)
    const printed = await waitFor(async () => tasks.output[0], { what: 'the function to print' })
    const marker = printed.split(' ').at(-1)!
    await waitFor(async () => processesWith(HOST_MARKER, marker).length > 1, {
      what: 'the stray to stand alone',
    })
    await chain.close()
    await waitFor(async () => processesWith(HOST_MARKER, marker).length === 0, {
      what: 'all of them to be gone',
    })
  })

  it('and leaves no process behind while processes are still forking', async () => {
    const relay = pythonTask(
      'relay',
      'import ctypes',
      'libc = ctypes.CDLL(None)',
      'if libc.fork() == 0:',
      '    os.setsid()',
      '    for _ in range(200):',
      '        if libc.fork() != 0: os._exit(0)',
      '    time.sleep(600)',
      'print("host", os.environ["VITRINA_TASK_HOST"])',
      'return rows',
    )
    const tasks = await someTasks(python(relay, GOOD))
    for (let round = 0; round < 5; round++) {
      const chain = await tasks.open('relay', COLUMNS)
      await chain.run(RowBatch.ofRows(ROWS))
      const printed = await waitFor(async () => tasks.output[round], { what: 'the function to print' })
      await chain.close()
      await waitFor(async () => processesWith(HOST_MARKER, printed.split(' ').at(-1)!).length === 0, {
        what: 'all of them to end',
      })
    }
  })

  it('while a new host processes the batches that were already sent', async () => {
    const tasks = await someTasks(
      python(pythonTask('third', 'if rows[0]["id"] == 3: os._exit(1)', 'return rows')),
    )
    const chain = await tasks.open('third', COLUMNS)
    const answers = await Promise.allSettled(
      ['1', '2', '3', '4', '5'].map((id) => chain.run(RowBatch.ofRows([[id, 'x']]))),
    )
    expect(answers.map((answer) => answer.status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    await chain.close()
  })

  it('at once when the run is stopped', async () => {
    const tasks = await someTasks(python(pythonTask('hangs', 'time.sleep(600)')))
    const stop = new AbortController()
    const chain = await tasks.open('hangs', COLUMNS, stop.signal)
    const answer = chain.run(RowBatch.ofRows(ROWS))
    stop.abort(new Error('the runner stops'))
    await expect(answer).rejects.toThrow('the runner stops')
    await chain.close()
  })
})

/** What it returns, and the message. */
const NONSENSE: Record<string, { body: string; message: RegExp; hint?: RegExp }> = {
  nothing: { body: 'rows', message: /it returned None, not rows/, hint: /return rows/ },
  one_row: { body: 'return rows[0]', message: /it returned dict .* not a list of rows/ },
  a_number: { body: 'return 42', message: /it returned int 42/ },
  a_text: { body: 'return "rows"', message: /it returned str 'rows'/ },
  lists: {
    body: 'return [list(row.values()) for row in rows]',
    message: /a row is list \[1, ' One '\], not a dict/,
  },
  a_hole: { body: 'return [rows[0], None]', message: /a row is None, not a dict/ },
  too_few: { body: 'return [{"id": 1}]', message: /a row has no column "title"/, hint: /drops=\["title"\]/ },
  too_many: {
    body: 'return [{**row, "extra": 1} for row in rows]',
    message: /a row has the column "extra", which is not declared/,
    hint: /adds=\{"extra": "text"\}/,
  },
  other_keys: {
    body: 'return [{1: 2, "title": "x", "id": 1}]',
    message: /the column int 1, which is not declared/,
  },
  wrong_type: {
    body: 'rows[1]["title"] = 5; return rows',
    message:
      /column "title" \(text\) requires a str, got int 5\. Row 2 of the batch: \{'id': 2, 'title': 5\}/,
    hint: /str\(value\)/,
  },
  wrong_number: {
    body: 'rows[1]["id"] = "two"; return rows',
    message: /column "id" \(bigint\) requires an int, got str 'two'/,
  },
  half: { body: 'rows[0]["id"] = 1.5; return rows', message: /requires an int, got float 1\.5/ },
  a_bool: { body: 'rows[0]["id"] = True; return rows', message: /requires an int, got bool True/ },
  nul: { body: 'rows[2]["title"] = "a\\x00b"; return rows', message: /cannot contain the NUL character/ },
  surrogate: {
    body: 'rows[2]["title"] = "\\ud800"; return rows',
    message: /cannot contain half of a surrogate pair/,
  },
  an_object: {
    body: 'rows[0]["title"] = object(); return rows',
    message: /requires a str, got object <object>|got object/,
  },
}

describe('a Python function that returns nonsense fails with the row and the expected value', () => {
  it('for every kind of nonsense', async () => {
    const tasks = await someTasks(
      python(...Object.entries(NONSENSE).map(([name, { body }]) => pythonTask(name, body))),
    )
    for (const [name, { message, hint }] of Object.entries(NONSENSE)) {
      const failure = await tasks.run(name, COLUMNS, ROWS).then(
        (rows) => ({ code: 'none', message: JSON.stringify(rows), hint: '' }),
        (error) => error,
      )
      expect([name, failure.code]).toEqual([name, 'TRANSFORM_RESULT'])
      expect(failure.message).toMatch(message)
      if (hint !== undefined) expect(failure.hint).toMatch(hint)
    }
  })

  it('also for JSON that holds itself or never ends', async () => {
    const tasks = await someTasks(
      python(
        pythonTask('circle', 'x = []; x.append(x)', 'return [{"id": 1, "j": x}]'),
        pythonTask('abyss', 'x = []', 'for n in range(5000): x = [x]', 'return [{"id": 1, "j": x}]'),
      ),
    )
    for (const [name, text] of Object.entries({ circle: 'Circular', abyss: 'nested too deep' })) {
      const answer = tasks.run(name, columnsOfTexts('id bigint', 'j jsonb'), [['1', '{}']])
      await expect(answer).rejects.toMatchObject({
        code: 'TRANSFORM_RESULT',
        message: expect.stringMatching(`${text}.* Row 1 of the batch: \\{'id': 1, 'j': \\[\\[\\[\\[…`),
      })
    }
  })

  it('also for times without a zone, and dates that carry a time', async () => {
    const columns = columnsOfTexts(
      'at timestamp with time zone',
      'local timestamp without time zone',
      'day date',
    )
    const tasks = await someTasks(
      python(
        pythonTask(
          'naive',
          'import datetime as d',
          'return [{**row, "at": d.datetime(2024, 1, 1)} for row in rows]',
        ),
        pythonTask('aware', 'return [{**row, "local": row["at"]} for row in rows]'),
        pythonTask('timed', 'return [{**row, "day": row["local"]} for row in rows]'),
      ),
    )
    const rows = [['2024-01-01 00:00:00+00', '2024-01-01 12:00:00', '2024-01-01']]
    await expect(tasks.run('naive', columns, rows)).rejects.toMatchObject({
      message: expect.stringContaining('requires a datetime with time zone'),
      hint: expect.stringContaining('timezone.utc'),
    })
    await expect(tasks.run('aware', columns, rows)).rejects.toThrow('requires a datetime without time zone')
    await expect(tasks.run('timed', columns, rows)).rejects.toThrow('requires a date')
  })
})

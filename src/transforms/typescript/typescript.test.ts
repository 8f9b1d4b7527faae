import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { columnsOfTexts, someTasks, type TestTasks } from '../../../tests/support/tasks.js'
import { RowBatch } from '../../sql/row-batch.js'

const COLUMNS = columnsOfTexts('id bigint', 'title text')
const ROWS = [
  ['1', ' One '],
  ['2', 'T\two\\'],
  ['3', null],
]
const GOOD = "task('good', (rows: Row[]) => rows.map((row) => ({ ...row, title: (row.title ?? '').trim() })))"

const typescript = (...lines: string[]) => ({
  'typescript/tasks.ts': ["import { task, type Row } from 'vitrina'", ...lines, GOOD].join('\n'),
})

async function failureOf(tasks: TestTasks, name: string) {
  const failure = await tasks.run(name, COLUMNS, ROWS).then(
    () => null,
    (error) => error,
  )
  expect((await tasks.run('good', COLUMNS, ROWS))[0]).toEqual(['1', 'One'])
  return failure
}

describe('a TypeScript function', () => {
  it('may be asynchronous, a generator, in several files and in any of four kinds of file', async () => {
    const tasks = await someTasks({
      ...typescript(
        "import { half } from './half.js'",
        'enum Size { Small = "small" }',
        "task('later', async (rows: Row[]) => rows.filter((row) => row.title !== null))",
        "task('each', function* (rows: Row[]) { for (const row of rows) yield { ...row, id: half(row.id) } })",
        "task('sized', { adds: { size: 'text' } }, async function* (rows: Row[]) { for (const row of rows) yield { ...row, size: Size.Small } })",
      ),
      'typescript/half.ts': 'export const half = (id: bigint): bigint => id * 10n\n',
      'typescript/old.js': "import { task } from 'vitrina'\ntask('js', (rows) => rows)\n",
      'typescript/new.mjs': "import { task } from 'vitrina'\ntask('mjs', (rows) => rows)\n",
      'typescript/typed.mts':
        "import { task } from 'vitrina'\ntask('mts', (rows: object[]): object[] => rows)\n",
    })
    expect(await tasks.run(['later', 'each', 'sized', 'js', 'mjs', 'mts'], COLUMNS, ROWS)).toEqual([
      ['10', ' One ', 'small'],
      ['20', 'T\two\\', 'small'],
    ])
  })

  it('does not keep the runner from its own work, however long it works', async () => {
    const tasks = await someTasks(
      typescript(
        "task('busy', (rows: Row[]) => { const end = Date.now() + 1500; while (Date.now() < end); return rows })",
      ),
    )
    const chain = await tasks.open('busy', COLUMNS)
    let ticks = 0
    const working = chain.run(RowBatch.ofRows(ROWS)).then(() => false)
    while (await Promise.race([working, delay(20, true)])) ticks += 1
    expect(ticks).toBeGreaterThan(5)
    await chain.close()
  })

  it('prints into the log, and sees no environment of the runner', async () => {
    process.env.DATABASE_URL = 'postgres://user:secret@nowhere/db'
    try {
      const tasks = await someTasks(
        typescript(
          "task('loud', (rows: Row[]) => {",
          "  console.log('rows:', rows.length); console.error('π'); process.stdout.write('no newline')",
          '  console.log(); console.log(Object.keys(process.env).sort().join())',
          '  for (let n = 0; n < 1000; n++) console.log(n)',
          '  return rows',
          '})',
        ),
      )
      await tasks.run('loud', COLUMNS, ROWS)
      expect(tasks.output.slice(0, 3)).toEqual(['loud: rows: 3', 'loud: π', 'loud: no newline'])
      expect(tasks.output[3]).toMatch(/^loud: HOME,LANG,PATH,(TMPDIR,)?TZ$/)
      expect([tasks.output.length, tasks.output.at(-1)]).toEqual([201, 'loud: … 804 more lines'])
    } finally {
      delete process.env.DATABASE_URL
    }
  })

  it('that throws gives the place, a row and the stack, and the host lives on', async () => {
    const tasks = await someTasks(
      typescript("task('throws', (rows: Row[]) => rows.map((row) => ({ ...row, title: row.title.trim() })))"),
    )
    const failure = await failureOf(tasks, 'throws')
    expect(failure.code).toBe('TRANSFORM_FAILED')
    expect(failure.message).toContain(
      `Transform "throws" failed at tasks.ts:2: TypeError: Cannot read properties of null (reading 'trim').`,
    )
    expect(failure.message).toContain(`The first row of the batch: { id: 1n, title: ' One ' }`)
    expect(tasks.output.join('\n')).toMatch(/throws: {5}at .*tasks\.ts:2:/)
  })
})

const HOSTILE: Record<string, { code: string; message: RegExp }> = {
  '() => { for (;;); }': { code: 'TRANSFORM_KILLED', message: /limit of 2 s/ },
  '() => new Promise(() => {})': { code: 'TRANSFORM_KILLED', message: /limit of 2 s/ },
  'async () => { for (;;) await null }': { code: 'TRANSFORM_KILLED', message: /limit of 2 s/ },
  // What it prints waits in its memory: either limit may be the first that it meets.
  '() => { for (;;) console.log("x") }': {
    code: 'TRANSFORM_KILLED',
    message: /limit of 2 s|used more than 128 MB of memory/,
  },
  '() => process.exit(4)': { code: 'TRANSFORM_KILLED', message: /exited with code 4/ },
  '() => { setTimeout(() => { throw new Error("later") }); return new Promise(() => {}) }': {
    code: 'TRANSFORM_KILLED',
    message: /an error outside of any call \(Error: later\)/,
  },
  '() => { void Promise.reject(new Error("lost")); return new Promise(() => {}) }': {
    code: 'TRANSFORM_KILLED',
    message: /lost/,
  },
  '() => { const all: unknown[] = []; for (;;) all.push(new Array(1000).fill(Math.random())) }': {
    code: 'TRANSFORM_KILLED',
    message: /used more than 128 MB of memory/,
  },
  '() => { const f = (): any => f(); return f() }': { code: 'TRANSFORM_FAILED', message: /RangeError/ },
  '() => { throw null }': { code: 'TRANSFORM_FAILED', message: /threw null/ },
  '() => {}': { code: 'TRANSFORM_RESULT', message: /it returned undefined, not a list of rows/ },
  '(rows) => rows.length': { code: 'TRANSFORM_RESULT', message: /it returned number 3/ },
  '(rows) => rows.map(Object.values)': {
    code: 'TRANSFORM_RESULT',
    message: /a row is object .*, not an object/,
  },
  '(rows) => [{ id: 1n }]': { code: 'TRANSFORM_RESULT', message: /a row has no column "title"/ },
  '(rows) => [{ ...rows[0], more: 1 }]': {
    code: 'TRANSFORM_RESULT',
    message: /the column "more", which is not declared/,
  },
  '(rows) => [{ ...rows[0], title: undefined }]': { code: 'TRANSFORM_RESULT', message: /no column "title"/ },
  '(rows) => [{ ...rows[0], title: 5 }]': {
    code: 'TRANSFORM_RESULT',
    message: /column "title" \(text\) requires a string, got number 5\. Row 1/,
  },
  '(rows) => [{ ...rows[0], id: 1.5 }]': {
    code: 'TRANSFORM_RESULT',
    message: /requires a whole number, got number 1.5/,
  },
  '(rows) => [{ ...rows[0], title: "a\\0b" }]': { code: 'TRANSFORM_RESULT', message: /NUL character/ },
  '(rows) => [{ ...rows[0], title: "\\ud800" }]': {
    code: 'TRANSFORM_RESULT',
    message: /half of a surrogate pair/,
  },
}

describe('a TypeScript function that misbehaves is stopped and reported', () => {
  const bodies = Object.keys(HOSTILE)
  const functionOf = (body: string) => `((${body.replace('(rows)', '(rows: Row[])')}) as never)`
  const named = (body: string) => `bad_${bodies.indexOf(body)}`
  // On a busy machine, loading the functions once took more than 64 MB.
  const MEMORY = { VITRINA_TASK_MEMORY_MB: '128' }
  const KILLED = bodies.filter((body) => HOSTILE[body]!.code === 'TRANSFORM_KILLED')
  const [ENDLESS, ENDING] = [true, false].map((isEndless) =>
    KILLED.filter((body) => isEndless === HOSTILE[body]!.message.source.startsWith('limit of 2 s')),
  )
  const someBad = (env: Record<string, string>) =>
    someTasks(typescript(...KILLED.map((body) => `task('${named(body)}', ${functionOf(body)})`)), env)
  const expected = (body: string) => [
    body,
    HOSTILE[body]!.code,
    expect.stringMatching(HOSTILE[body]!.message),
  ]
  const reported = (body: string, { code, message }: { code: string; message: string }) => [
    body,
    code,
    message,
  ]

  it('and the next batch gets a new host', { timeout: 180_000 }, async () => {
    const tasks = await someBad(MEMORY)
    for (const body of ENDING!)
      expect(reported(body, await failureOf(tasks, named(body)))).toEqual(expected(body))
  })

  // At once: each takes its two seconds.
  it('also when it does not end', { timeout: 180_000 }, async () => {
    const tasks = await someBad({ ...MEMORY, VITRINA_TASK_TIMEOUT_SECONDS: '2' })
    const failures = ENDLESS!.map(async (body) => reported(body, await failureOf(tasks, named(body))))
    expect(await Promise.all(failures)).toEqual(ENDLESS!.map(expected))
  })

  it('or fails with the expected value', { timeout: 180_000 }, async () => {
    const returning = bodies.filter((body) => !KILLED.includes(body))
    // One host, which lives on: each batch gets the next function.
    const tasks = await someTasks(
      typescript(
        'let batches = 0',
        `const ALL: ((rows: Row[]) => never)[] = [${returning.map(functionOf).join(', ')}]`,
        "task('each', (rows: Row[]) => ALL[batches++]!(rows))",
      ),
      MEMORY,
    )
    const chain = await tasks.open('each', COLUMNS)
    for (const body of returning) {
      const failure = await chain.run(RowBatch.ofRows(ROWS)).catch((error) => error)
      expect(reported(body, failure)).toEqual(expected(body))
    }
    await chain.close()
  })
})

/**
 * Rows per second through one host, with the function of the contract and five columns (int8, text, numeric, timestamptz,
 * uuid), as a ratio to 150,000 and to parsing the same batches in JavaScript. Batches are sent ahead, as a run does.
 * Wall-clock time on a shared machine depends on its load; processor time of both sides shows the actual cost.
 *
 *   npm run build && node bench/transforms.mjs [rows]
 */
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readSettings } from '../dist/config/settings.js'
import { RowBatch } from '../dist/sql/row-batch.js'
import { createTransforms } from '../dist/transforms/index.js'

const ROWS = Number(process.argv[2] ?? 1_000_000)
const BATCH = 5_000
const WANTED = 150_000
const PYTHON = `from vitrina import task
@task("demo_film_dim")
def demo_film_dim(rows):
    return [{**row, "title": row["title"].strip()} for row in rows]
`
const TYPESCRIPT = `import { task } from 'vitrina'
task('demo_ts', (rows: any[]) => rows.map((row) => ({ ...row, title: row.title.trim() })))
`
const COLUMNS = [
  'id bigint',
  'title text',
  'rating numeric',
  'modified timestamp with time zone',
  'film uuid',
].map((text) => {
  const [, name, type] = /^(\w+) (.+)$/.exec(text)
  return { name, type, typeOid: 0, base: null, notNull: false }
})

const folder = await mkdtemp(join(tmpdir(), 'vitrina-bench-'))
await mkdir(join(folder, 'python'))
await mkdir(join(folder, 'typescript'))
await writeFile(join(folder, 'python/demo.py'), PYTHON)
await writeFile(join(folder, 'typescript/demo.ts'), TYPESCRIPT)
const hosts = createTransforms(
  readSettings({
    VITRINA_PYTHON: process.env.VITRINA_PYTHON,
    VITRINA_PYTHON_TASKS: join(folder, 'python'),
    VITRINA_TYPESCRIPT_TASKS: join(folder, 'typescript'),
  }),
)
try {
  const bytes = aBatch()
  const decoded = decode(bytes)
  for (const name of ['demo_film_dim', 'demo_ts'])
    console.log(JSON.stringify(await through(name, bytes, decoded)))
} finally {
  await hosts.close()
  await rm(folder, { recursive: true })
}

function aBatch() {
  const hex = (n, length) => n.toString(16).padStart(length, '0')
  const lines = Array.from({ length: BATCH }, (_, n) => {
    const two = (value) => String(value % 60).padStart(2, '0')
    const uuid = `${hex(n * 2_654_435, 8)}-9c0b-4ef8-bb6d-${hex(n * 7_919, 12)}`
    return `${1_000_000_000 + n}\t The film ${n} \t${(n % 1000) / 100 + 0.01}\t2024-03-07 12:${two(n)}:${two(n * 7)}.${String((n * 104_729) % 1_000_000).padStart(6, '1')}+00\t${uuid}\n`
  })
  return Buffer.from(lines.join(''))
}

/** Rows per second that JavaScript parses without reading a value. */
function decode(bytes) {
  const began = performance.now()
  for (let rows = 0; rows < ROWS; rows += BATCH) RowBatch.ofLines(bytes, BATCH).rows.at(0)
  return perSecond(performance.now() - began)
}

async function through(name, bytes, decoded) {
  const opening = performance.now()
  const chain = await hosts.open([name], COLUMNS, {
    signal: new AbortController().signal,
    onOutput: () => {},
  })
  const openMs = Math.round(performance.now() - opening)
  const waiting = []
  const cpuBefore = cpuOf()
  const began = performance.now()
  let answered = 0
  for (let rows = 0; rows < ROWS; rows += BATCH) {
    waiting.push(chain.run(RowBatch.ofLines(bytes, BATCH)))
    if (waiting.length > 3) answered += (await waiting.shift()).count
  }
  for (const one of waiting) answered += (await one).count
  const ms = performance.now() - began
  const cpuMs = cpuOf() - cpuBefore
  await chain.close()
  if (answered < ROWS) throw new Error(`only ${answered} rows came back`)
  const rate = perSecond(ms)
  return {
    task: name,
    open_ms: openMs,
    rows_per_s: rate,
    of_wanted: ratio(rate / WANTED),
    of_decode: ratio(rate / decoded),
    rows_per_cpu_s: perSecond(cpuMs),
  }
}

/** Processor time so far of this process and of the host. */
function cpuOf() {
  const { user, system } = process.cpuUsage()
  const own = (user + system) / 1000
  if (process.platform !== 'linux') return own
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .reduce((sum, pid) => sum + cpuOfChild(pid), own)
}

/** 0 for a process that is not ours, or has ended in the meantime. */
function cpuOfChild(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return Number(fields[1]) === process.pid ? (Number(fields[11]) + Number(fields[12])) * 10 : 0
  } catch {
    return 0
  }
}

function perSecond(ms) {
  return Math.round(ROWS / (ms / 1000))
}

function ratio(value) {
  return Number(value.toFixed(2))
}

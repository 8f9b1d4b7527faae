/*
 * A small HTTP front for chDB, the engine of ClickHouse as a library. The SQL engine is real. The protocol is our own
 * subset: one session for all requests, no streaming, no roles; faults on request.
 * Started by tests/support/clickhouse.ts: node clickhouse-front.mjs <folder with node_modules/chdb>
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const { Session } = createRequire(join(process.argv[2], 'package.json'))('chdb')
const home = mkdtempSync(join(tmpdir(), 'vitrina-clickhouse-'))
const session = new Session(home)

/** Parameters of the protocol, not of the engine. */
const NOT_SETTINGS = new Set([
  'query',
  'query_id',
  'session_id',
  'default_format',
  'database',
  'role',
  'wait_end_of_query',
])
/** The accepted user and password. */
const LOGIN = `Basic ${Buffer.from('etl:a secret').toString('base64')}`

/** Faults that wait for their statement: {pattern, times, code?, type?, lose?}. */
let faults = []
let requests = []
let turn = Promise.resolve()

const server = createServer(async (request, response) => {
  const body = await read(request)
  const url = new URL(request.url, 'http://front')
  if (url.pathname === '/faults') {
    faults = JSON.parse(body)
    return response.end()
  }
  if (url.pathname === '/requests') {
    response.end(JSON.stringify(requests))
    requests = []
    return
  }
  if (request.headers.authorization !== LOGIN)
    return refuse(
      response,
      'Code: 516. DB::Exception: etl: Authentication failed: password is incorrect. (AUTHENTICATION_FAILED)',
    )
  // One after another: all requests share one session.
  turn = turn
    .then(() => answer(url.searchParams, body, response))
    .catch((error) => refuse(response, error.message))
})

async function answer(params, body, response) {
  const statement = params.get('query')
  const sql = statement === null ? body : `${statement}\n${body}`
  requests.push({ sql: sql.slice(0, 2000), settings: Object.fromEntries(params) })
  const fault = takeFault(sql)
  if (fault?.code)
    return refuse(response, `Code: ${fault.code}. DB::Exception: On request of a test. (${fault.type})`)
  const text = await run(sql, params)
  if (fault?.lose) return response.destroy()
  response.writeHead(200, { 'content-type': 'text/tab-separated-values; charset=UTF-8' })
  response.end(text)
}

function takeFault(sql) {
  const fault = faults.find(({ pattern, times }) => times > 0 && new RegExp(pattern).test(sql))
  if (fault !== undefined) fault.times -= 1
  return fault
}

/**
 * The current settings of the session. Almost every request has the same, and each SET costs as much as a small
 * query.
 */
let current = new Map()

async function run(sql, params) {
  const wanted = new Map([...params].filter(([name]) => !NOT_SETTINGS.has(name)))
  const reset = [...current.keys()]
    .filter((name) => !wanted.has(name))
    .map((name) => `SET ${name} = DEFAULT; `)
  const set = [...wanted]
    .filter(([name, value]) => current.get(name) !== value)
    .map(([name, value]) => `SET ${name} = '${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'; `)
  const changes = [...reset, ...set].join('')
  if (changes !== '') await session.queryAsync(changes)
  current = wanted
  const result = await session.queryAsync(sql, { format: 'TabSeparated' })
  return Buffer.from(result.bytes())
}

function refuse(response, message) {
  response.writeHead(500, { 'x-clickhouse-exception-code': /Code: (\d+)/.exec(message)?.[1] ?? '0' })
  response.end(`${message} (version 0 (front))`)
}

async function read(request) {
  const pieces = []
  for await (const piece of request) pieces.push(piece)
  return Buffer.concat(pieces).toString('utf8')
}

server.listen(0, '127.0.0.1', () => process.stdout.write(`listening on ${server.address().port}\n`))
process.on('SIGTERM', () => {
  server.close()
  server.closeAllConnections()
  session.close()
  // The engine may still be writing its last files.
  rmSync(home, { recursive: true, force: true, maxRetries: 10 })
  process.exit(0)
})

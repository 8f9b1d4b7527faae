/** What the benchmarks share. */
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

export function median(values) {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
}

/** A runner of the built program, with these settings. */
export function startRunner(settings) {
  return spawn(process.execPath, [new URL('../bin/vitrina.js', import.meta.url).pathname, 'runner'], {
    env: { ...process.env, LOG_LEVEL: 'error', ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

export async function stopRunner(runner) {
  if (runner === null) return
  runner.kill('SIGTERM')
  await new Promise((resolve) => runner.once('exit', resolve))
}

/** In MiB. Linux keeps the highest resident size of a process. */
export function peakMemory(pid) {
  try {
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024)
  } catch {
    return 'unknown'
  }
}

export async function connected(url, work) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Statements on connections that stay open, one for each database. A script that connects whenever it asks for the
 * status of a run uses half as much CPU as the run.
 */
export function keptConnections(urlOf) {
  const clients = new Map()
  const connect = async (database) => {
    const client = new pg.Client({ connectionString: urlOf(database) })
    await client.connect()
    return client
  }
  return {
    query: async (database, text, values) => {
      if (!clients.has(database)) clients.set(database, connect(database))
      return (await (await clients.get(database)).query(text, values)).rows
    },
    close: async () => {
      for (const client of clients.values()) await (await client).end()
    },
  }
}

/** Of /proc: a hundredth of a second. */
const TICKS = 100

/** CPU seconds of these processes with their children, also those that have ended. */
export function cpuSecondsOf(pids) {
  return pids.reduce((sum, pid) => sum + ticksOf(pid), 0) / TICKS
}

function ticksOf(pid) {
  const [, rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const own = rest
    .split(' ')
    .slice(11, 15)
    .reduce((sum, field) => sum + Number(field), 0)
  return childrenOf(pid).reduce((sum, child) => {
    try {
      return sum + ticksOf(child)
    } catch {
      return sum
    }
  }, own)
}

function childrenOf(pid) {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
        .trim()
        .split(' ')
        .filter(Boolean)
        .map(Number)
    } catch {
      return []
    }
  })
}

/** The process id of the server, of which all its other processes are children. */
export async function postmasterOf(url) {
  const { rows } = await connected(url, (client) =>
    client.query("SELECT pg_read_file('postmaster.pid') AS text"),
  )
  return Number(rows[0].text.split('\n')[0])
}

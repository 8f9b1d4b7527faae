/** What the benchmarks share. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
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

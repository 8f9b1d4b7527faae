import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** What we say goes to stderr, so that the output of the programs we start stays theirs. */
export function say(line) {
  process.stderr.write(`${line}\n`)
}

/** Runs a program on this terminal and returns its exit code. */
export function runHere(file, args, { env = process.env, cwd = ROOT } = {}) {
  const child = spawn(file, args, { cwd, env, stdio: 'inherit' })
  // Ctrl-C also reaches the child, which is in the same process group. This process only has to outlive it.
  const outlive = () => {}
  const forward = () => child.kill('SIGTERM')
  process.on('SIGINT', outlive).on('SIGTERM', forward)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      process.off('SIGINT', outlive).off('SIGTERM', forward)
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1))
    })
  })
}

/** Runs a program silently and returns its exit code with all its output. */
export function runQuietly(file, args, { cwd = ROOT } = {}) {
  const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  child.stdout.on('data', (data) => output.push(data))
  child.stderr.on('data', (data) => output.push(data))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) =>
      resolve({ code: code ?? 1, output: Buffer.concat(output).toString('utf8') }),
    )
  })
}

export function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`
}

/** Every script ends here: a sentence and a hint instead of a stack trace. */
export async function main(work) {
  try {
    process.exitCode = await work()
  } catch (error) {
    say(`\n✗ ${process.env.LOG_LEVEL === 'debug' ? error.stack : error.message}`)
    if (error.hint) say(`  → ${error.hint}`)
    process.exitCode = 1
  }
}

export function failure(message, hint) {
  return Object.assign(new Error(message), { hint })
}

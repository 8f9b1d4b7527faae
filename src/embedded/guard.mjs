/**
 * Runs one command and ends it when our parent is gone, even after SIGKILL: the parent holds the other end of our
 * stdin, which the kernel closes with the process. PostgreSQL itself does not detect that.
 *
 * Plain JavaScript, because it is started as a separate process, from src/ in tests and from dist/ otherwise.
 * Its stdout and stderr are the server's log.
 *
 * @typedef {{ file: string, args: string[], cwd: string, uid?: number, gid?: number }} Command
 */
import { spawn } from 'node:child_process'
import { fstatSync, ftruncateSync } from 'node:fs'
import { constants } from 'node:os'

/** INT: fast shutdown. QUIT: shutdown without a checkpoint. KILL: if that has no effect either. */
const STEPS = /** @type {const} */ (['SIGINT', 'SIGQUIT', 'SIGKILL'])
const STEP_MS = 10_000

const LOG_LIMIT = 16 * 1024 * 1024
const LOG_CHECK_MS = 5_000
const STDERR = 2

const { file, args, cwd, uid, gid } = /** @type {Command} */ (JSON.parse(process.argv[2] ?? ''))
const child = spawn(file, args, { cwd, uid, gid, stdio: ['ignore', 'inherit', 'inherit'] })
let stopping = false

function stop() {
  if (stopping) return
  stopping = true
  STEPS.forEach((signal, step) => {
    setTimeout(() => child.kill(signal), step * STEP_MS)
  })
}

child.once('error', (error) => {
  process.stderr.write(`cannot run ${file}: ${error.message}\n`)
  process.exit(127)
})
child.once('exit', (code, signal) => {
  process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
})

process.stdin.once('error', stop).once('close', stop).resume()
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, stop)

// The server appends to the shared file, so it continues at the start of the emptied file.
setInterval(() => {
  if (fstatSync(STDERR).size > LOG_LIMIT) ftruncateSync(STDERR)
}, LOG_CHECK_MS)

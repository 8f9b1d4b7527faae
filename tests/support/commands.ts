import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { bareEnvironment, ROOT, requireBuilt } from './processes.js'

const HOST = fileURLToPath(new URL('command-host.mjs', import.meta.url))

/** What a command printed, and its exit code. */
export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

let host: ChildProcess | null = null
/** The last of the commands; the host runs one at a time. */
let last: Promise<unknown> = Promise.resolve()

/**
 * Runs a command of the built program to its end, in a process that all commands of this file share. For tests of
 * what a command prints and does; spawnVitrina starts a separate process, for tests of signals, terminals and
 * services.
 */
export function runCommand(
  args: readonly string[],
  env: Record<string, string> = {},
  { cwd = ROOT }: { cwd?: string } = {},
): Promise<Ended> {
  const ended = last.then(() => request({ args, env: { ...bareEnvironment(), ...env }, cwd }))
  last = ended.catch(() => {})
  return ended
}

/** leaks.ts calls it after the file. */
export async function endCommandHost(): Promise<void> {
  const ending = host
  // The next file of this process starts its own.
  host = null
  if (ending === null || isOver(ending)) return
  const exited = once(ending, 'exit')
  ending.kill('SIGKILL')
  await exited
}

async function request(command: { args: readonly string[]; env: object; cwd: string }): Promise<Ended> {
  host ??= start()
  if (isOver(host))
    throw new Error(`"vitrina ${command.args.join(' ')}": the process of the commands exited.`)
  const endMark = `\0${randomUUID()}`
  const printed = Promise.all([readTo(host, 'stdout', endMark), readTo(host, 'stderr', endMark)])
  const control = host.stdio[3] as Writable
  control.write(`${JSON.stringify({ ...command, endMark })}\n`)
  const [stdout, stderr] = await printed
  return { code: stderr.code, stdout: stdout.text, stderr: stderr.text }
}

function start(): ChildProcess {
  requireBuilt()
  return spawn(process.execPath, [HOST], {
    env: bareEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
}

/** The output before the mark, and the exit code behind it. */
async function readTo(
  child: ChildProcess,
  name: 'stdout' | 'stderr',
  mark: string,
): Promise<{ text: string; code: number }> {
  const stream = child[name]!.setEncoding('utf8')
  let text = ''
  return new Promise((resolve, reject) => {
    const read = (part: string) => {
      text += part
      const [before = '', code] = text.split(mark)
      if (!code?.endsWith('\n')) return
      release()
      resolve({ text: before, code: Number(code) })
    }
    const fail = () => {
      release()
      reject(new Error(`The process of the commands exited. It printed:\n${text}`))
    }
    const release = () => {
      stream.off('data', read)
      child.off('close', fail)
    }
    stream.on('data', read)
    child.on('close', fail)
  })
}

function isOver({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

import { closeSync, openSync, readFileSync, readSync, writeSync } from 'node:fs'

/** Names the descriptor on which a parent passes the environment. */
const FD_VARIABLE = 'VITRINA_ENVIRONMENT_FD'

/**
 * What other processes of the same user may see: variables that the runtime itself needs at the start, and those that
 * every process has. Everything else counts as a secret; a list of secrets would miss the next one.
 */
const VISIBLE = new Set([
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'PWD', 'TMPDIR', 'TERM', 'COLORTERM', 'NO_COLOR'],
  ...['LANG', 'LANGUAGE', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TZDIR'],
  ...['NODE_ENV', 'NODE_OPTIONS', 'NODE_PATH', 'NODE_EXTRA_CA_CERTS', 'NODE_NO_WARNINGS', 'NODE_ICU_DATA'],
  ...['NODE_V8_COVERAGE', 'NODE_COMPILE_CACHE', 'NODE_REDIRECT_WARNINGS', 'NODE_USE_SYSTEM_CA'],
  ...['NODE_TLS_REJECT_UNAUTHORIZED', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'OPENSSL_CONF', 'UV_THREADPOOL_SIZE'],
  ...['LD_LIBRARY_PATH', 'LD_PRELOAD', 'DYLD_LIBRARY_PATH', 'MALLOC_ARENA_MAX'],
  // Tests use it to find orphaned processes.
  'VITRINA_TEST_WORKER',
])

let problem: string | null = null

/** Why secrets can still be read in /proc; null if they cannot. */
export function environmentProblem(): string | null {
  return problem
}

/**
 * Receives the environment from a parent that passes one, and removes the environment that this process was started
 * with from /proc/<pid>/environ, which every process of the same user may read, including task functions.
 * `process.env` keeps its values. To be called before anything else is loaded.
 */
export function hideEnvironment(): void {
  takeOverEnvironment()
  if (process.platform !== 'linux') return
  try {
    overwrite()
  } catch (error) {
    // A process whose files in /proc belong to root is not readable for other processes of its user anyway.
    if (isReadable()) problem = error instanceof Error ? error.message : String(error)
  }
}

/** The visible environment of a child; it receives the rest on `HANDED_OVER_ON`. */
export function visibleEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const visible = Object.entries(environment).filter(([name]) => VISIBLE.has(name))
  return { ...Object.fromEntries(visible), [FD_VARIABLE]: String(HANDED_OVER_ON) }
}

/** After the standard streams and the channel of `fork`. */
export const HANDED_OVER_ON = 4

function takeOverEnvironment(): void {
  const { [FD_VARIABLE]: fd } = process.env
  if (fd === undefined) return
  delete process.env[FD_VARIABLE]
  const text = readFileSync(Number(fd), 'utf8')
  closeSync(Number(fd))
  // The parent exited before it had written.
  if (text === '') process.exit(1)
  Object.assign(process.env, JSON.parse(text))
}

/**
 * The kernel shows the memory in which it stored the environment at the start. Setting a variable again moves its
 * value elsewhere; the old place is then overwritten. Node has no function for this, but the file with our own memory
 * is writable. Takes about 1 ms.
 */
function overwrite(): void {
  const { start, end } = whereItIs()
  const memory = openSync('/proc/self/mem', 'r+')
  try {
    const block = Buffer.alloc(end - start)
    readSync(memory, block, 0, block.length, start)
    const hidden = withoutSecrets(block)
    for (const [name, value] of Object.entries(process.env)) if (!VISIBLE.has(name)) process.env[name] = value
    writeSync(memory, hidden, 0, hidden.length, start)
  } finally {
    closeSync(memory)
  }
}

/** Entries end with NUL, as `NAME=value`. Each stays in place: the others are still in use. */
function withoutSecrets(block: Buffer): Buffer {
  const hidden = Buffer.from(block)
  for (let at = 0; at < block.length; ) {
    const nul = block.indexOf(0, at)
    const end = nul < 0 ? block.length : nul
    const name = block.toString('latin1', at, end).split('=', 1)[0]!
    if (!VISIBLE.has(name)) hidden.fill(0, at, end)
    at = end + 1
  }
  return hidden
}

/** Fields 50 and 51 of /proc/self/stat; the name in parentheses, the second field, may itself contain spaces. */
function whereItIs(): { readonly start: number; readonly end: number } {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { start: Number(fields[47]), end: Number(fields[48]) }
}

function isReadable(): boolean {
  try {
    return readFileSync('/proc/self/environ').length > 0
  } catch {
    return false
  }
}

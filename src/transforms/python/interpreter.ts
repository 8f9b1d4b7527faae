import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { VitrinaError } from '../../model/errors.js'
import { hostEnvironment } from '../host-environment.js'

const OLDEST = [3, 9] as const
const TIMEOUT_MS = 20_000
const QUESTION = 'import json, sys; print(json.dumps([sys.executable, *sys.version_info[:3]]))'

export interface Interpreter {
  /** The real executable: a shim in front of it may take half a second on each start. */
  readonly executable: string
  readonly version: string
}

export async function findInterpreter(command: string, folder: string | undefined): Promise<Interpreter> {
  const { stdout } = await promisify(execFile)(command, ['-I', '-c', QUESTION], {
    cwd: folder,
    env: hostEnvironment(),
    timeout: TIMEOUT_MS,
  }).catch((error: Error & { stderr?: string }) => {
    throw missing(`"${command}" cannot be started: ${reasonOf(error)}.`, error)
  })
  const answer = parse(stdout)
  if (answer === null) throw missing(`"${command}" is not a Python interpreter.`)
  const [executable, major, minor, micro] = answer
  const version = `${major}.${minor}.${micro}`
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]))
    throw missing(`"${command}" is Python ${version}, too old for tasks.`)
  return { executable: executable || command, version }
}

function parse(text: string): [string | null, number, number, number] | null {
  try {
    const answer = JSON.parse(text.trim().split('\n').at(-1) ?? '')
    return Array.isArray(answer) && answer.length === 4 ? (answer as [string, number, number, number]) : null
  } catch {
    return null
  }
}

function reasonOf(error: Error & { stderr?: string; code?: unknown }): string {
  if (error.code === 'ENOENT') return 'the program does not exist'
  return (error.stderr?.trim().split('\n').at(-1) || error.message).slice(0, 300)
}

function missing(what: string, cause?: unknown): VitrinaError {
  return new VitrinaError(
    'TRANSFORM_HOST_MISSING',
    what,
    `Install Python ${OLDEST.join('.')} or newer, or set VITRINA_PYTHON to its path.`,
    { cause },
  )
}

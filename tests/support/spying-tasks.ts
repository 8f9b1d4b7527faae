import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** What a function saw of the processes around it. */
export interface SpyReport {
  readonly language: 'python' | 'typescript'
  /** When it looked: while its file was loaded, or while it processed rows. */
  readonly phase: 'load' | 'batch'
  /** Files in /proc that contain the secret. */
  readonly found: readonly string[]
  /** How many files it could read. */
  readonly read: number
  /** Its parent's environment: how many bytes, or the error. */
  readonly parentEnviron: number | string
  /** Its parent's memory: `open`, or the error. */
  readonly parentMemory: string
}

/**
 * They write what they saw into `seen.jsonl`; the secret is in a file, so that searching for it does not reveal it.
 */
const PYTHON = (folder: string) => `
import json, os
from vitrina import task

FOLDER = ${JSON.stringify(folder)}

def attempt(action):
    try:
        return action()
    except OSError as error:
        return error.strerror

def read(path):
    with open(path, "rb") as file:
        return file.read()

def look(phase):
    secret = read(FOLDER + "/secret.txt")
    found, count = [], 0
    for pid in os.listdir("/proc"):
        for name in ("environ", "cmdline") if pid.isdigit() else ():
            text = attempt(lambda: read(f"/proc/{pid}/{name}"))
            count += isinstance(text, bytes)
            if isinstance(text, bytes) and secret in text:
                found.append(f"/proc/{pid}/{name}")
    parent = attempt(lambda: read(f"/proc/{os.getppid()}/environ"))
    memory = attempt(lambda: os.close(os.open(f"/proc/{os.getppid()}/mem", os.O_RDONLY)) or "open")
    seen = {"language": "python", "phase": phase, "found": found, "read": count, "parentMemory": memory,
            "parentEnviron": len(parent) if isinstance(parent, bytes) else parent}
    with open(FOLDER + "/seen.jsonl", "a") as file:
        file.write(json.dumps(seen) + "\\n")

look("load")

@task("spy_python")
def spy(rows):
    look("batch")
    return rows
`

const TYPESCRIPT = (folder: string) => `
import { appendFileSync, closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { task, type Row } from 'vitrina'

const FOLDER = ${JSON.stringify(folder)}

function attempt<T>(action: () => T): T | string {
  try {
    return action()
  } catch (error) {
    return String((error as { code?: string }).code)
  }
}

function look(phase: string): void {
  const secret = readFileSync(FOLDER + '/secret.txt')
  const found: string[] = []
  let read = 0
  for (const pid of readdirSync('/proc').filter((name) => /^\\d+$/.test(name)))
    for (const name of ['environ', 'cmdline']) {
      const text = attempt(() => readFileSync(\`/proc/\${pid}/\${name}\`))
      if (typeof text === 'string') continue
      read += 1
      if (text.includes(secret)) found.push(\`/proc/\${pid}/\${name}\`)
    }
  const parentEnviron = attempt(() => readFileSync(\`/proc/\${process.ppid}/environ\`).length)
  const parentMemory = attempt(() => closeSync(openSync(\`/proc/\${process.ppid}/mem\`, 'r')) ?? 'open')
  const seen = { language: 'typescript', phase, found, read, parentEnviron, parentMemory }
  appendFileSync(FOLDER + '/seen.jsonl', JSON.stringify(seen) + '\\n')
}

look('load')
task('spy_typescript', (rows: Row[]) => {
  look('batch')
  return rows
})
`

export const SPIES = ['spy_python', 'spy_typescript'] as const

/** Writes two functions into `folder` that search for `secret` in every process they may inspect. */
export async function writeSpies(folder: string, secret: string): Promise<void> {
  for (const language of ['python', 'typescript'])
    await mkdir(join(folder, 'pipelines', language), { recursive: true })
  await writeFile(join(folder, 'secret.txt'), secret)
  await writeFile(join(folder, 'pipelines/python/spy.py'), PYTHON(folder))
  await writeFile(join(folder, 'pipelines/typescript/spy.ts'), TYPESCRIPT(folder))
}

/** What they saw since the last call. */
export async function seenBySpies(folder: string): Promise<SpyReport[]> {
  const file = join(folder, 'seen.jsonl')
  const text = await readFile(file, 'utf8').catch(() => '')
  await writeFile(file, '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

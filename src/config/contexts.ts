import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { VitrinaError } from '../model/errors.js'
import { didYouMean } from './did-you-mean.js'
import { fileProblem } from './file-problem.js'

const context = z.object({ url: z.string(), token: z.string().nullable() })
const contextsFile = z.object({ current: z.string().nullable(), contexts: z.record(z.string(), context) })

/** A server with its token. */
export type Context = z.infer<typeof context>
export type Contexts = z.infer<typeof contextsFile>

/** The file with the named servers of a user. */
export function contextsPath(): string {
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'vitrina', 'contexts.json')
}

export async function readContexts(): Promise<Contexts> {
  const path = contextsPath()
  const text = await readFile(path, 'utf8').catch((error: { code?: string }) => {
    if (error.code === 'ENOENT') return null
    throw unreadable(path, error)
  })
  if (text === null) return { current: null, contexts: {} }
  try {
    return contextsFile.parse(JSON.parse(text))
  } catch (error) {
    throw unreadable(path, error)
  }
}

/**
 * It contains tokens, so only its owner may read it. Replaced atomically: a reader sees the old file or the new one.
 */
export async function writeContexts(contexts: Contexts): Promise<void> {
  const path = contextsPath()
  const draft = `${path}.${process.pid}`
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await writeFile(draft, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 })
    await chmod(draft, 0o600)
    await rename(draft, path)
  } catch (error) {
    throw new VitrinaError(
      'CONTEXT_UNKNOWN',
      `The contexts cannot be saved in ${path}: ${fileProblem(error)}.`,
      'Set XDG_CONFIG_HOME to a folder that this account may write.',
      { cause: error },
    )
  }
}

export function requireContext({ contexts }: Contexts, name: string): Context {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (found !== undefined) return found
  throw new VitrinaError(
    'CONTEXT_UNKNOWN',
    `The context "${name}" does not exist.${didYouMean(name, Object.keys(contexts))}`,
    'Run "vitrina context list" to list the contexts, "vitrina context add" to add one.',
  )
}

function unreadable(path: string, cause: unknown): VitrinaError {
  return new VitrinaError(
    'CONTEXT_UNKNOWN',
    `The contexts in ${path} cannot be read.`,
    'Fix or remove the file, then add the contexts again with "vitrina context add".',
    { cause },
  )
}

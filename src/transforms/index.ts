import { resolve } from 'node:path'
import { list, type Settings } from '../config/settings.js'
import { type Confinement, Confining } from './confinement.js'
import { Python } from './python/index.js'
import { TransformRegistry } from './registry.js'
import { TypeScript } from './typescript/index.js'

export type TransformSettings = Pick<
  Settings,
  | 'VITRINA_PYTHON'
  | 'VITRINA_PYTHON_TASKS'
  | 'VITRINA_TYPESCRIPT_TASKS'
  | 'VITRINA_TASK_TIMEOUT_SECONDS'
  | 'VITRINA_TASK_MEMORY_MB'
  | 'VITRINA_TASK_ISOLATION'
  | 'VITRINA_TASK_USER'
>

export function createTransforms(settings: TransformSettings): TransformRegistry {
  const memoryMb = settings.VITRINA_TASK_MEMORY_MB
  const limits = { memoryMb, timeoutMs: settings.VITRINA_TASK_TIMEOUT_SECONDS * 1000 }
  const confining = new Confining(settings)
  const python = foldersOf(settings.VITRINA_PYTHON_TASKS).map((folder) =>
    pythonOf(settings, { folder, confining }),
  )
  const typescript = foldersOf(settings.VITRINA_TYPESCRIPT_TASKS).map(
    (folder) => new TypeScript({ folder, memoryMb, confining }),
  )
  return new TransformRegistry([...python, ...typescript], limits)
}

/** Several folders, so that functions of another team or package need not be copied. */
export function foldersOf(setting: string): string[] {
  return list(setting).map((folder) => resolve(folder))
}

/** How functions are started here. Throws if VITRINA_TASK_ISOLATION or VITRINA_TASK_USER cannot be respected. */
export function confinementHere(settings: TransformSettings): Promise<Confinement> {
  return new Confining(settings).of(process.execPath, '/')
}

/** Also used by the doctor, which only looks up the interpreter. */
export function pythonOf(
  settings: TransformSettings,
  { folder = resolve('.'), confining = new Confining(settings) } = {},
): Python {
  const { VITRINA_PYTHON: command, VITRINA_TASK_MEMORY_MB: memoryMb } = settings
  return new Python({ command, folder, memoryMb, confining })
}

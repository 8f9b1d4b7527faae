import { resolve } from 'node:path'
import type { Settings } from '../config/settings.js'
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
>

export function createTransforms(settings: TransformSettings): TransformRegistry {
  const memoryMb = settings.VITRINA_TASK_MEMORY_MB
  const limits = { memoryMb, timeoutMs: settings.VITRINA_TASK_TIMEOUT_SECONDS * 1000 }
  const typescript = new TypeScript({ folder: resolve(settings.VITRINA_TYPESCRIPT_TASKS), memoryMb })
  return new TransformRegistry([pythonOf(settings), typescript], limits)
}

/** For the doctor too. */
export function pythonOf(settings: TransformSettings): Python {
  return new Python({
    command: settings.VITRINA_PYTHON,
    folder: resolve(settings.VITRINA_PYTHON_TASKS),
    memoryMb: settings.VITRINA_TASK_MEMORY_MB,
  })
}

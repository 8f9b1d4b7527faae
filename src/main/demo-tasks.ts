import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { MainSettings } from './environment.js'
import { CINEMA_DIR } from './paths.js'

/** Where the demo finds its Python functions: in the folder that somebody chose or has, else in that of the sample cinema. */
export function demoTasksFolder(settings: MainSettings): string {
  const isOwn = Boolean(process.env.VITRINA_PYTHON_TASKS) || existsSync(settings.VITRINA_PYTHON_TASKS)
  return isOwn ? settings.VITRINA_PYTHON_TASKS : join(CINEMA_DIR, 'python')
}

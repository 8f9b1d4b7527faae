import { join } from 'node:path'
import type { MainSettings } from './environment.js'
import { CINEMA_DIR } from './paths.js'

/** Beside somebody's own functions, those that a pipeline of the sample cinema needs. */
export function demoTaskFolders(settings: MainSettings): string {
  return [settings.VITRINA_PYTHON_TASKS, join(CINEMA_DIR, 'python')].join(',')
}

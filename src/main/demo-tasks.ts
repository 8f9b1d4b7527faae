import { join } from 'node:path'
import type { MainSettings } from './environment.js'
import { CINEMA_DIR } from './paths.js'

/** The user's own functions, together with those that a sample pipeline needs. */
export function demoTaskFolders(settings: MainSettings): string {
  return [settings.VITRINA_PYTHON_TASKS, join(CINEMA_DIR, 'python')].join(',')
}

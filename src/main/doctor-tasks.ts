import type { Settings } from '../config/settings.js'
import { createTransforms, foldersOf, pythonOf } from '../transforms/index.js'
import { asVitrinaError } from './failure.js'
import { type Finding, failed, ok, skipped } from './finding.js'

/** Which Python would run tasks, and what is registered. */
export async function examineTasks(settings: Settings): Promise<Finding[]> {
  const transforms = createTransforms(settings)
  try {
    const { items, problems } = await transforms.list()
    const folders = [settings.VITRINA_PYTHON_TASKS, settings.VITRINA_TYPESCRIPT_TASKS].flatMap(foldersOf)
    const python = await examinePython(
      settings,
      items.some(({ language }) => language === 'python'),
    )
    const names = items.map(({ name }) => name).join(', ')
    const tasks = ok(
      'tasks',
      items.length === 0 ? `none in ${folders.join(', ')}` : `${items.length}: ${names}`,
    )
    const broken = problems.map(({ file, message }) =>
      failed(`tasks ${file}`, message, 'Mend the file; "vitrina tasks list" looks again.'),
    )
    return [python, tasks, ...broken]
  } finally {
    await transforms.close()
  }
}

/** Nobody has to have Python who has no Python tasks. */
async function examinePython(settings: Settings, isNeeded: boolean): Promise<Finding> {
  try {
    const { executable, version } = await pythonOf(settings).interpreter()
    return ok('Python', `${version} at ${executable}`)
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return isNeeded ? failed('Python', message, hint) : skipped('Python', `not needed: ${message}`)
  }
}

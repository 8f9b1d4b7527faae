import type { Settings } from '../config/settings.js'
import { confinementHere, createTransforms, foldersOf, pythonOf } from '../transforms/index.js'
import { asVitrinaError } from './as-vitrina-error.js'
import { type DoctorResult, failed, ok, skipped, warning } from './doctor-result.js'

/**
 * Which Python would run tasks, which functions are registered, and how functions are isolated from the processes of
 * Vitrina.
 */
export async function examineTasks(settings: Settings): Promise<DoctorResult[]> {
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
      failed(`tasks ${file}`, message, 'Fix the file; "vitrina tasks list" checks it again.'),
    )
    return [python, tasks, await examineIsolation(settings), ...broken]
  } finally {
    await transforms.close()
  }
}

/** Python is not required without Python tasks. */
async function examinePython(settings: Settings, isNeeded: boolean): Promise<DoctorResult> {
  try {
    const { executable, version } = await pythonOf(settings).interpreter()
    return ok('Python', `${version} at ${executable}`)
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return isNeeded ? failed('Python', message, hint) : skipped('Python', `not needed: ${message}`)
  }
}

async function examineIsolation(settings: Settings): Promise<DoctorResult> {
  const check = 'task isolation'
  try {
    const { prefix, user } = await confinementHere(settings)
    const measures = [
      ...(prefix.length > 0 ? ['in their own user namespace'] : []),
      ...(user === null ? [] : [`as the account with uid ${user.uid}`]),
    ]
    if (measures.length > 0) return ok(check, `functions run ${measures.join(', ')}`)
    const why =
      settings.VITRINA_TASK_ISOLATION === 'off'
        ? 'VITRINA_TASK_ISOLATION is off'
        : 'user namespaces are not allowed here, or unshare is not installed'
    return warning(check, `functions run as the user of the runner, without their own namespace: ${why}`)
  } catch (error) {
    const { message, hint } = asVitrinaError(error)
    return failed(check, message, hint)
  }
}

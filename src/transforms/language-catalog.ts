import { VitrinaError } from '../model/errors.js'
import { TRANSFORM_NAME } from '../model/task-plan.js'
import type { TransformInfo, TransformList } from '../ports/transforms.js'
import { declaredType } from './declared-types.js'
import type { Language, LoadedTask } from './host.js'
import { type FileProblem, type Scanned, scan } from './scan.js'
import { fingerprint, taskFiles } from './task-files.js'

/** A list of tasks, or the reason why the host could not be started. */
export interface LanguageList extends TransformList {
  readonly missing: VitrinaError | null
}

/** The tasks registered in one language. Loaded again only when a file has changed. */
export class LanguageCatalog {
  readonly language: Language
  #known: { readonly mark: string; readonly list: Promise<LanguageList> } | null = null

  constructor(language: Language) {
    this.language = language
  }

  async list(): Promise<LanguageList> {
    const { folder, extensions } = this.language
    const mark = await fingerprint(folder, extensions)
    if (this.#known?.mark !== mark) {
      const known = { mark, list: this.#read() }
      this.#known = known
      // An interpreter that was missing may be installed without any file changing.
      known.list.then(
        ({ missing }) => missing !== null && this.#forget(known),
        () => this.#forget(known),
      )
    }
    return this.#known.list
  }

  #forget(known: unknown): void {
    if (this.#known === known) this.#known = null
  }

  async #read(): Promise<LanguageList> {
    const { folder, extensions, name } = this.language
    const files = await taskFiles(folder, extensions)
    if (files.length === 0) return { items: [], problems: [], missing: null }
    try {
      return { ...listOf(name, await scan(this.language, files)), missing: null }
    } catch (error) {
      if (!(error instanceof VitrinaError)) throw error
      const problem = { file: folder, message: `${error.message} ${error.hint}` }
      return { items: [], problems: [problem], missing: error }
    }
  }
}

function listOf(language: Language['name'], scanned: Scanned): TransformList {
  const problems: FileProblem[] = [...scanned.problems]
  const items = scanned.tasks.flatMap((task) => {
    const problem = problemOf(task)
    if (problem === null) return [infoOf(language, task)]
    problems.push({ file: placeOf(task), message: problem })
    return []
  })
  return { items, problems }
}

function problemOf({ name, adds, drops }: LoadedTask): string | null {
  if (!TRANSFORM_NAME.test(name))
    return `"${name}" is not a valid task name: use letters, digits, _ and -, beginning with a letter or _.`
  const wrong = Object.entries(adds).find(([, type]) => declaredType(type) === null)
  if (wrong !== undefined) return `Task "${name}" adds "${wrong[0]}" as "${wrong[1]}", which is not a type.`
  const both = drops.find((column) => Object.hasOwn(adds, column))
  return both === undefined ? null : `Task "${name}" both adds and drops "${both}".`
}

function infoOf(language: Language['name'], task: LoadedTask): TransformInfo {
  const { name, signature, doc, adds, drops } = task
  const types = Object.entries(adds).map(([column, type]) => [column, declaredType(type)!] as const)
  return { name, language, signature, doc, file: placeOf(task), adds: Object.fromEntries(types), drops }
}

function placeOf({ file, line }: LoadedTask): string {
  return `${file}:${line}`
}

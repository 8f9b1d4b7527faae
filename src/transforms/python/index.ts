import type { Host, HostEvents, Language } from '../host.js'
import { findInterpreter, type Interpreter } from './interpreter.js'
import { PythonProcess } from './python-process.js'

export interface PythonSettings {
  readonly command: string
  readonly folder: string
  readonly memoryMb: number
}

export class Python implements Language {
  readonly name = 'python'
  readonly extensions = ['.py']
  readonly folder: string
  readonly #settings: PythonSettings
  #interpreter: Promise<Interpreter> | null = null

  constructor(settings: PythonSettings) {
    this.#settings = settings
    this.folder = settings.folder
  }

  async start(events: HostEvents): Promise<Host> {
    const { executable } = await this.interpreter(this.folder)
    return new PythonProcess({ executable, folder: this.folder, memoryMb: this.#settings.memoryMb }, events)
  }

  /** Asked once; one that was not there may be there the next time. */
  interpreter(folder?: string): Promise<Interpreter> {
    this.#interpreter ??= findInterpreter(this.#settings.command, folder).catch((error) => {
      this.#interpreter = null
      throw error
    })
    return this.#interpreter
  }
}

import { fileURLToPath } from 'node:url'
import type { Confining } from '../confinement.js'
import type { Host, HostEvents, Language } from '../host.js'
import { HostProcess } from '../host-process.js'
import { findInterpreter, type Interpreter } from './interpreter.js'

/** Three folders up, both from src/ and from dist/. */
const PROGRAM = fileURLToPath(new URL('../../../python/vitrina_host.py', import.meta.url))

export interface PythonSettings {
  readonly command: string
  readonly folder: string
  readonly memoryMb: number
  readonly confining: Confining
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
    const { memoryMb, confining } = this.#settings
    const confinement = await confining.of(executable, this.folder)
    const command = [executable, '-I', '-X', 'utf8', PROGRAM]
    return new HostProcess({ command, cwd: this.folder, memoryMb, confinement, marksOutput: true }, events)
  }

  /** Looked up once; a missing interpreter is looked up again. */
  interpreter(folder?: string): Promise<Interpreter> {
    this.#interpreter ??= findInterpreter(this.#settings.command, folder).catch((error) => {
      this.#interpreter = null
      throw error
    })
    return this.#interpreter
  }
}

import { fileURLToPath } from 'node:url'
import type { Confining } from '../confinement.js'
import type { Host, HostEvents, Language } from '../host.js'
import { HostProcess } from '../host-process.js'

const PROGRAM = fileURLToPath(new URL('./process.mjs', import.meta.url))

export interface TypeScriptSettings {
  readonly folder: string
  readonly memoryMb: number
  readonly confining: Confining
}

export class TypeScript implements Language {
  readonly name = 'typescript'
  readonly extensions = ['.ts', '.mts', '.js', '.mjs']
  readonly folder: string
  readonly #settings: TypeScriptSettings

  constructor(settings: TypeScriptSettings) {
    this.#settings = settings
    this.folder = settings.folder
  }

  async start(events: HostEvents): Promise<Host> {
    const { memoryMb, confining } = this.#settings
    const confinement = await confining.of(process.execPath, this.folder)
    const command = [process.execPath, PROGRAM]
    return new HostProcess({ command, cwd: process.cwd(), memoryMb, confinement, marksOutput: false }, events)
  }
}

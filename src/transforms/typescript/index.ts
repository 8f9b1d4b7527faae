import type { Host, HostEvents, Language } from '../host.js'
import { TaskThread } from './task-thread.js'

export class TypeScript implements Language {
  readonly name = 'typescript'
  readonly extensions = ['.ts', '.mts', '.js', '.mjs']
  readonly folder: string
  readonly #memoryMb: number

  constructor({ folder, memoryMb }: { readonly folder: string; readonly memoryMb: number }) {
    this.folder = folder
    this.#memoryMb = memoryMb
  }

  async start(events: HostEvents): Promise<Host> {
    return new TaskThread({ memoryMb: this.#memoryMb }, events)
  }
}

import type { VitrinaError } from '../model/errors.js'
import { aboutError } from './facts.js'
import type { LogFields, Logger } from './log.js'

/** What happens while changes are captured, one method for each fact. */
export class CaptureEvents {
  readonly #log: Logger

  constructor(log: Logger) {
    this.#log = log
  }

  claimed(source: string, facts: LogFields): void {
    this.#log.info('Capturing changes.', { source, ...facts })
  }

  slotCreated(source: string, facts: LogFields): void {
    this.#log.info('Created a replication slot.', { source, ...facts })
  }

  /** A new slot and a new generation: every pipeline of the source compares its mart as a whole once. */
  generationStarted(source: string, facts: LogFields): void {
    this.#log.warn('The change log starts over. Each pipeline of this source compares its whole mart once.', {
      source,
      ...facts,
    })
  }

  retired(source: string, slot: string): void {
    this.#log.info('No pipeline captures changes of this source any more. The slot was dropped.', {
      source,
      slot,
    })
  }

  gaveUp(source: string, facts: LogFields): void {
    this.#log.error('The slot held too much WAL on the source and was dropped.', { source, ...facts })
  }

  leaseLost(source: string): void {
    this.#log.warn('Another runner captures the changes of this source now.', { source })
  }

  failed(source: string, error: VitrinaError): void {
    this.#log.error('Capturing changes failed; retrying.', { source, ...aboutError(error) })
  }
}

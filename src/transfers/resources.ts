/** What an attempt has opened, to be closed at its end. */
export class Resources {
  readonly #open: { close(): Promise<unknown> }[] = []

  add<R extends { close(): Promise<unknown> }>(resource: R): R {
    this.#open.push(resource)
    return resource
  }

  /** Last opened, first closed. */
  async close(): Promise<void> {
    for (const resource of this.#open.reverse()) await resource.close().catch(() => {})
  }
}

const MOST = 10_000

/**
 * The caller that a credential last belonged to. Its share of the rate limit is then known before the database is
 * queried; a credential that was never valid uses the share of its address.
 */
export class KnownCallers {
  readonly #ids = new Map<string, string>()

  get(hash: Buffer): string | null {
    return this.#ids.get(hash.toString('base64')) ?? null
  }

  set(hash: Buffer, id: string): void {
    this.#ids.set(hash.toString('base64'), id)
    const [oldest] = this.#ids.keys()
    if (this.#ids.size > MOST && oldest !== undefined) this.#ids.delete(oldest)
  }

  delete(hash: Buffer): void {
    this.#ids.delete(hash.toString('base64'))
  }
}

const MOST = 10_000

/**
 * Whom a credential belonged to when it was last right. So its share of the rate limit is known before the database is
 * asked about it; a credential that was never right uses the share of its address.
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

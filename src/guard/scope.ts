/** Names that stand for a WITH query at one place of the text. */
export class Scope {
  static readonly EMPTY = new Scope(new Set())
  readonly #names: ReadonlySet<string>

  private constructor(names: ReadonlySet<string>) {
    this.#names = names
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }

  plus(names: readonly string[]): Scope {
    return new Scope(new Set([...this.#names, ...names]))
  }
}

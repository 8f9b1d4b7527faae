import type { Message, Relation } from './decoder.js'
import { changesOf, type LoggedChange, type Needs } from './images.js'
import type { Lsn } from './lsn.js'

/** A commit with what it changed in the published tables. */
export interface Transaction {
  /** As decoded: 32 bits. */
  readonly xid: number
  readonly endLsn: Lsn
  /** When it was committed, in microseconds since 2000. */
  readonly stamp: bigint
  readonly changes: readonly LoggedChange[]
  /** Roughly what it takes in memory. */
  readonly bytes: number
}

export interface TransactionLimits {
  /** More changes of one table in one transaction become a single T entry. */
  readonly changesPerTable: number
  /** The same for all its tables, once the changes of a transaction take more than this. */
  readonly bytes: number
}

/** Beyond some 50,000 changed rows a full query is cheaper than tracing them. */
const DEFAULT_LIMITS: TransactionLimits = { changesPerTable: 50_000, bytes: 64 * 1024 * 1024 }

/** What an entry takes besides its values. */
const ENTRY_BYTES = 100

/** Puts the messages of one transaction together, in bounded memory. */
export class TransactionBuilder {
  readonly #limits: TransactionLimits
  readonly #needs: () => Needs
  #open: OpenTransaction | null = null

  constructor(needs: () => Needs, limits: TransactionLimits = DEFAULT_LIMITS) {
    this.#needs = needs
    this.#limits = limits
  }

  get isOpen(): boolean {
    return this.#open !== null
  }

  /** False: the table has changed in too many rows of this transaction already. */
  readonly isNeeded = (relation: Relation): boolean => this.#open?.isNeeded(relation) !== false

  /** The transaction that this message ends. */
  add(message: Message): Transaction | null {
    if (message.tag === 'begin') this.#open = new OpenTransaction(message.xid, this.#limits)
    else if (message.tag === 'commit') return this.#commit(message)
    else if (this.#open !== null)
      for (const change of changesOf(message, this.#needs())) this.#open.add(change)
    return null
  }

  #commit({ end: endLsn, stamp }: Extract<Message, { tag: 'commit' }>): Transaction {
    const { xid = 0, changes = [], bytes = 0 } = this.#open ?? {}
    this.#open = null
    return { xid, endLsn, stamp, changes, bytes }
  }
}

class OpenTransaction {
  readonly xid: number
  readonly #limits: TransactionLimits
  readonly #counts = new Map<string, number>()
  readonly #collapsed = new Set<string>()
  #changes: LoggedChange[] = []
  #bytes = 0

  constructor(xid: number, limits: TransactionLimits) {
    this.xid = xid
    this.#limits = limits
  }

  get changes(): readonly LoggedChange[] {
    return this.#changes
  }

  get bytes(): number {
    return this.#bytes
  }

  isNeeded({ name }: Relation): boolean {
    return !this.#collapsed.has(name)
  }

  add(change: LoggedChange): void {
    const { relation } = change
    if (this.#collapsed.has(relation)) return
    this.#keep(change)
    const count = (this.#counts.get(relation) ?? 0) + 1
    this.#counts.set(relation, count)
    if (count > this.#limits.changesPerTable) this.#collapse([relation])
    else if (this.#bytes > this.#limits.bytes) this.#collapse([...this.#counts.keys()])
  }

  #collapse(relations: readonly string[]): void {
    for (const relation of relations) this.#collapsed.add(relation)
    const kept = this.#changes.filter(({ relation }) => !this.#collapsed.has(relation))
    this.#changes = []
    this.#bytes = 0
    for (const relation of this.#collapsed) this.#keep({ relation, op: 'T', old: null, new: null })
    for (const change of kept) this.#keep(change)
  }

  #keep(change: LoggedChange): void {
    this.#changes.push(change)
    this.#bytes += ENTRY_BYTES + sizeOf(change.old) + sizeOf(change.new)
  }
}

function sizeOf(image: LoggedChange['old']): number {
  if (image === null) return 0
  let size = 0
  for (const name in image) size += 20 + (image[name]?.length ?? 0)
  return size
}

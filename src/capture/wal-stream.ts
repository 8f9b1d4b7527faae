import type { ChangeStream, Received, Receiving } from './change-stream.js'
import { Decoder } from './decoder.js'
import type { Needs } from './images.js'
import { type Lsn, laterLsn, NO_LSN } from './lsn.js'
import { ReplicationClient } from './replication-client.js'
import { type Transaction, TransactionBuilder, type TransactionLimits } from './transaction-builder.js'

export interface StreamOptions {
  readonly url: string
  readonly slot: string
  readonly publication: string
  readonly needs: () => Needs
  readonly limits?: TransactionLimits
}

const KEEPALIVE = 0x6b
const STATUS = 0x72
/** The header before the message of the plugin: kind, start, end, time. */
const HEADER_BYTES = 25
/** PostgreSQL counts from 2000-01-01. */
const EPOCH_MS = 946_684_800_000

/** Finished transactions that wait for the log; above this the socket is not read, and TCP slows the server down. */
const QUEUE_BYTES = 8 * 1024 * 1024

/** The server ends a stream whose client is silent for wal_sender_timeout, by default 60 s. */
const STATUS_MS = 10_000

/** How often the position of an idle server is requested, while a consumer waits for it. */
const FIRST_PING_MS = 4
const SLOWEST_PING_MS = 100

/**
 * START_REPLICATION over pg. It acknowledges only what the caller confirms: a client that acknowledges what it received
 * (as libraries do by a timer) loses everything between that and the log when it is killed.
 */
export class WalStream implements ChangeStream {
  readonly way = 'stream'
  readonly #client: ReplicationClient
  readonly #decoder = new Decoder()
  readonly #builder: TransactionBuilder
  readonly #timer: NodeJS.Timeout
  #queue: Transaction[] = []
  #queuedBytes = 0
  #isPaused = false
  #reached: Lsn = NO_LSN
  #acknowledged: Lsn = NO_LSN
  #failure: unknown = null
  #wanted: () => Lsn = () => NO_LSN
  #heard: () => void = () => {}

  private constructor(client: ReplicationClient, options: StreamOptions) {
    this.#client = client
    this.#builder = new TransactionBuilder(options.needs, options.limits)
    this.#timer = setInterval(() => this.#status(false), STATUS_MS)
    this.#timer.unref()
  }

  static async open(options: StreamOptions, signal: AbortSignal): Promise<WalStream> {
    const client = await ReplicationClient.open(options.url, signal)
    const stream = new WalStream(client, options)
    try {
      await stream.#start(options)
      return stream
    } catch (error) {
      await stream.close()
      throw error
    }
  }

  async receive({ wanted, timeoutMs }: Receiving): Promise<Received> {
    const deadline = performance.now() + timeoutMs
    let pause = FIRST_PING_MS
    this.#wanted = wanted
    while (!this.#hasNews(wanted())) {
      const left = deadline - performance.now()
      // A server without changes sends nothing unless it is asked. The next call returns its reply.
      if (left <= 0 || wanted() > this.#reached) this.#status(true)
      if (left <= 0) break
      const before = this.#reached
      await this.#news(wanted() > before ? Math.min(pause, left) : left)
      pause = this.#reached > before ? FIRST_PING_MS : Math.min(pause * 2, SLOWEST_PING_MS)
    }
    return this.#take()
  }

  async acknowledge(upto: Lsn): Promise<void> {
    this.#acknowledged = laterLsn(upto, this.#acknowledged)
    this.#status(false)
  }

  wake(): void {
    this.#heard()
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#client.close()
  }

  async #start({ slot, publication }: StreamOptions): Promise<void> {
    const { wire } = this.#client
    wire.on('copyData', ({ chunk }) => this.#read(chunk))
    const started = new Promise<void>((resolve) => wire.once('replicationStart', resolve))
    // From 0/0 means from the confirmed position: what was logged but not acknowledged comes again and is compared.
    const ended = this.#client
      .command(
        `START_REPLICATION SLOT "${slot}" LOGICAL 0/0 (proto_version '1', publication_names '"${publication}"')`,
      )
      .then(() => {
        throw new Error('Connection terminated: the server ended the stream.')
      })
    ended.catch((error: unknown) => this.#fail(error))
    await Promise.race([started, ended])
  }

  #hasNews(wanted: Lsn): boolean {
    if (this.#failure !== null || this.#queue.length > 0) return true
    return wanted > NO_LSN && this.#reached >= wanted
  }

  #news(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs)
      this.#heard = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #take(): Received {
    if (this.#failure !== null) throw this.#failure
    const transactions = this.#queue
    this.#queue = []
    this.#queuedBytes = 0
    if (this.#isPaused) this.#client.wire.stream.resume()
    this.#isPaused = false
    return { transactions, reached: this.#reached }
  }

  #read(chunk: Buffer): void {
    try {
      if (chunk[0] === KEEPALIVE) this.#keepalive(chunk)
      else this.#message(chunk.subarray(HEADER_BYTES))
    } catch (error) {
      this.#fail(error)
      this.#client.close()
    }
  }

  #keepalive(chunk: Buffer): void {
    // Inside a transaction the position does not show where its commit is.
    if (!this.#builder.isOpen) this.#reach(chunk.readBigUInt64BE(1))
    if (chunk[17] === 1) this.#status(false)
  }

  #message(bytes: Buffer): void {
    const transaction = this.#builder.add(this.#decoder.decode(bytes, this.#builder.isNeeded))
    if (transaction === null) return
    if (transaction.changes.length > 0) this.#enqueue(transaction)
    this.#reach(transaction.endLsn)
  }

  #enqueue(transaction: Transaction): void {
    this.#queue.push(transaction)
    this.#queuedBytes += transaction.bytes
    if (this.#queuedBytes <= QUEUE_BYTES || this.#isPaused) return
    this.#isPaused = true
    this.#client.wire.stream.pause()
  }

  /** Commits of tables that are not published report positions too: on a busy server hundreds a second. */
  #reach(lsn: Lsn): void {
    this.#reached = laterLsn(lsn, this.#reached)
    if (this.#hasNews(this.#wanted())) this.#heard()
  }

  #fail(error: unknown): void {
    this.#failure ??= error
    this.#heard()
  }

  /** `asks`: the server replies with its position, which shows that an idle server has nothing to send. */
  #status(asks: boolean): void {
    const message = Buffer.alloc(34)
    message[0] = STATUS
    for (const at of [1, 9, 17]) message.writeBigUInt64BE(this.#acknowledged, at)
    message.writeBigUInt64BE(BigInt(Date.now() - EPOCH_MS) * 1000n, 25)
    message[33] = asks ? 1 : 0
    this.#client.wire.sendCopyFromChunk(message)
  }
}

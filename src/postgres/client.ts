import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { limitMessages } from './message-limit.js'

/** Not declared by pg: called once, with the stream that messages arrive on, before the first of them. */
interface MessageConnection {
  attachListeners(stream: Duplex): void
}

interface LimitedConfig extends pg.ClientConfig {
  /** The largest message in bytes; not given: 64 MiB. */
  readonly mostBytes?: number | undefined
}

/** Every connection of the product to PostgreSQL is one of these, or comes from createPool(). */
export class LimitedClient extends pg.Client {
  constructor({ mostBytes, ...config }: LimitedConfig = {}) {
    super(config)
    const wire = (this as unknown as { connection: MessageConnection }).connection
    const attach = wire.attachListeners.bind(wire)
    wire.attachListeners = (stream) => {
      limitMessages(stream, mostBytes)
      attach(stream)
    }
  }
}

export function createPool(config: pg.PoolConfig): pg.Pool {
  return new pg.Pool({ ...config, Client: LimitedClient })
}

/** Not declared by pg. */
export function socketOf(client: pg.Client): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream
}

/**
 * Whether statements are sent without waiting for the answers to earlier ones. Declared by pg as an option of the
 * constructor; here it changes between two statements, while none is in progress.
 */
export function pipelined(client: pg.Client, isOn: boolean): void {
  Object.assign(client, { pipeline: isOn })
}

/** Whether the last answer left a transaction open. */
export function isInTransaction(client: pg.Client): boolean {
  return (client as unknown as { getTransactionStatus(): string | null }).getTransactionStatus() !== 'I'
}

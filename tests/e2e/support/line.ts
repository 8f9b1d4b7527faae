import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A proxy between browser and server whose connections can be cut or frozen. */
export class Line {
  readonly url: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Connections with an event stream. */
  readonly #streams = new Set<Socket>()
  #isCut = false

  private constructor(url: string, server: Server) {
    this.url = url
    this.#server = server
  }

  /** For one test. */
  static async to(upstream: string): Promise<Line> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const line = new Line(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, server)
    server.on('connection', (near) => line.#join(near, Number(new URL(upstream).port)))
    onTestFinished(() => line.#close())
    return line
  }

  /** Closes all connections, and rejects new ones. */
  cut(): void {
    this.#isCut = true
    for (const socket of this.#sockets) socket.destroy()
  }

  restore(): void {
    this.#isCut = false
  }

  /** Event streams deliver nothing more but stay open; other connections keep working. */
  freezeStreams(): void {
    for (const socket of this.#streams) socket.unpipe().pause()
  }

  #join(near: Socket, port: number): void {
    if (this.#isCut) return void near.destroy()
    const far = connect(port, '127.0.0.1')
    near.on('data', (bytes) => {
      if (bytes.includes('GET /api/v1/events')) this.#streams.add(far)
    })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        this.#streams.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }

  async #close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

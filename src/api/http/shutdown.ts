import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Services } from '../routes/index.js'
import type { Api } from '../schemas/type-provider.js'

/** Work that is not done for a request. */
interface BackgroundWork {
  start(): void
  stop(): Promise<void>
}

/** What starts with the server and has to stop with it, in the right order. */
export function closeInOrder(
  app: Api,
  { health, streams, waiter, hub, inspect, martData }: Services,
  background: readonly BackgroundWork[],
): void {
  const unused = unusedSockets(app.server)
  let closing = false
  app.addHook('onReady', async () => {
    for (const work of background) work.start()
  })
  // A connection that was busy when closing began would otherwise be kept alive, and waited for, for 72 s.
  app.addHook('onSend', async (_request, reply) => {
    if (closing) reply.header('connection', 'close')
  })
  app.addHook('preClose', async () => {
    closing = true
    health.drain()
    // They never end by themselves: closing would wait for them indefinitely.
    streams.close()
    waiter.close()
    for (const socket of unused) socket.destroy()
  })
  app.addHook('onClose', async () => {
    await Promise.all(background.map((work) => work.stop()))
    await hub.stop()
    await inspect.close()
    await martData.close()
  })
}

/**
 * Connections without a request: browsers and fetch open them in advance. Node does not count them as idle, and
 * closing waited for their keep-alive to expire (72 s, seen with a single aborted stream).
 */
function unusedSockets(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', (request) => unused.delete(request.socket))
  return unused
}

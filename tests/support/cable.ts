import { connect, createServer, type Server, type Socket } from 'node:net'

/** A proxy between a process and a server, until it is cut. */
export async function aCable(url: string): Promise<{ url: string; cut(): Promise<void> }> {
  const to = new URL(url)
  const sockets = new Set<Socket>()
  const server: Server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    }
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.port = String((server.address() as { port: number }).port)
  const cut = async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { url: through.href, cut }
}

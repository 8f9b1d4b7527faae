import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const run = promisify(execFile)

/**
 * TLS in front of a PostgreSQL without TLS: answers the SSLRequest, decrypts, and forwards everything. Closed with
 * its test.
 */
export async function tlsFront(url: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const identity = await selfSigned()
  const open = new Set<Socket>()
  const server = createServer((near) => {
    open.add(near)
    near.on('error', () => {})
    near.once('readable', () => {
      // The SSLRequest, eight bytes.
      near.read(8)
      near.write('S')
      const secure = new TLSSocket(near, { isServer: true, ...identity })
      const far = connect(Number(port), hostname)
      for (const [one, other] of [
        [secure, far],
        [far, secure],
      ] as const)
        one.on('error', () => other.destroy()).on('close', () => other.destroy())
      secure.pipe(far).pipe(secure)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of open) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  const front = new URL(url)
  front.port = String((server.address() as AddressInfo).port)
  front.searchParams.set('sslmode', 'no-verify')
  return front.href
}

export async function hasOpenssl(): Promise<boolean> {
  return run('openssl', ['version']).then(
    () => true,
    () => false,
  )
}

async function selfSigned(): Promise<{ key: string; cert: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-tls-'))
  const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  try {
    await run('openssl', [
      ...['req', '-x509', ...curve, '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1'],
      ...['-keyout', key, '-out', cert],
    ])
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  } finally {
    await rm(folder, { recursive: true })
  }
}

import { execFile } from 'node:child_process'
import { pbkdf2Sync, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import https from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findTool } from '../../scripts/lib/test-tools.mjs'
import { startNode } from './elasticsearch-node.js'

const run = promisify(execFile)

/** A server that requires TLS and a login. */
export interface SecureSearch {
  /** https:// */
  readonly url: string
  /** Files with the authority that signed its certificate, and with another one. */
  readonly ca: string
  readonly strangeCa: string
  readonly password: string
  /** As the user `admin`, who may do everything. */
  call<T>(method: string, path: string, body?: unknown): Promise<T>
  /** Why this server cannot create API keys; null if it can. */
  readonly noApiKeys: string | null
  /** Encoded, as the setting expects it. */
  apiKey(privileges: Privileges): Promise<string>
  stop(): Promise<void>
}

export interface Privileges {
  readonly cluster: readonly string[]
  readonly indices: readonly { readonly names: readonly string[]; readonly privileges: readonly string[] }[]
}

/** The privileges that docs/guides/elasticsearch.md lists. */
export const DOCUMENTED: Privileges = {
  cluster: ['monitor'],
  indices: [{ names: ['film_dim', 'film_dim*'], privileges: ['read', 'write', 'manage'] }],
}

const ROLES = {
  documented: DOCUMENTED,
  reads: { indices: [{ names: ['*'], privileges: ['read', 'view_index_metadata'] }] },
}

/** The users `admin`, `vitrina` with the documented privileges, and `reader` have the same password. */
export async function startSecureSearch(): Promise<SecureSearch | { readonly missing: string }> {
  const found = await findTool('elasticsearch')
  if ('missing' in found) return found
  const folder = await mkdtemp(join(tmpdir(), 'vitrina-certificates-'))
  const certificates = await makeCertificates(folder).catch((error) => ({ missing: String(error) }))
  if ('missing' in certificates) return certificates
  // Characters with a meaning in URLs and headers, and letters beyond Latin-1.
  const password = `пароль:@%/ ${randomBytes(6).toString('hex')}`
  const ask = asker(certificates.authority, `admin:${password}`)
  const node = await startNode(found, {
    settings: SETTINGS,
    files: {
      'http.key': certificates.key,
      'http.crt': certificates.certificate,
      users: ['admin', 'vitrina', 'reader'].map((user) => `${user}:${hashOf(password)}\n`).join(''),
      users_roles: 'superuser:admin\ndocumented:vitrina\nreads:reader\n',
      // JSON is YAML; the server reads each role separately.
      'roles.yml': Object.entries(ROLES)
        .map(([name, role]) => `${name}: ${JSON.stringify(role)}\n`)
        .join(''),
    },
    answers: async (address) => (await ask('GET', `https://${address}/_cluster/health`)).status === 200,
  })
  const url = `https://${node.address}`
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> =>
    JSON.parse((await ask(method, url + path, body)).body) as T
  return {
    url,
    ca: join(folder, 'ca.crt'),
    strangeCa: join(folder, 'stranger.crt'),
    password,
    call,
    noApiKeys: found.makesApiKeys ? null : 'a server that creates API keys needs a Java compiler (javac)',
    apiKey: async (privileges) => {
      const made = await call<{ encoded: string }>('POST', '/_security/api_key', {
        name: 'test',
        role_descriptors: { test: privileges },
      })
      return made.encoded
    },
    stop: async () => {
      await node.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const SETTINGS = {
  'xpack.security.enabled': true,
  'xpack.security.http.ssl.enabled': true,
  'xpack.security.http.ssl.key': 'http.key',
  'xpack.security.http.ssl.certificate': 'http.crt',
}

async function makeCertificates(folder: string) {
  const make = (name: string, subject: string, ...more: string[]) =>
    run('openssl', [
      ...[
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
      ],
      ...['-subj', subject, '-keyout', join(folder, `${name}.key`), '-out', join(folder, `${name}.crt`)],
      ...more,
    ])
  await make('ca', '/CN=Authority of the tests')
  await make('stranger', '/CN=Another authority')
  const signed = ['-CA', join(folder, 'ca.crt'), '-CAkey', join(folder, 'ca.key')]
  const extensions = ['subjectAltName=IP:127.0.0.1', 'basicConstraints=critical,CA:FALSE']
  await make('http', '/CN=search', ...signed, ...extensions.flatMap((one) => ['-addext', one]))
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  return { authority: await read('ca.crt'), key: await read('http.key'), certificate: await read('http.crt') }
}

/** In the format of the users file. */
function hashOf(password: string): string {
  const [rounds, salt] = [10_000, randomBytes(32)]
  const key = pbkdf2Sync(password, salt, rounds, 32, 'sha512')
  return `{PBKDF2}${rounds}$${salt.toString('base64')}$${key.toString('base64')}`
}

function asker(ca: string, login: string) {
  const authorization = `Basic ${Buffer.from(login).toString('base64')}`
  return (method: string, url: string, body?: unknown) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const headers = { authorization, 'content-type': 'application/json' }
      const request = https.request(url, { method, ca, headers, agent: false }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
        )
      })
      request.on('error', reject)
      request.end(body === undefined ? undefined : JSON.stringify(body))
    })
}

import { randomBytes } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { VitrinaError } from '../../model/errors.js'
import { type Packing, packingFor } from '../packing.js'
import type { Api } from '../schemas/type-provider.js'

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
  '.webmanifest': 'application/manifest+json',
}

/** What index.html has in the place of the nonce. */
const NONCE = '{{csp-nonce}}'

/** No script and no style but our own files; style elements only with the nonce that the page itself was given. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

/** The console, as files. They hold no secrets: whoever opens them still has to bring a token for the API. */
export function consoleRoutes(app: Api, folder: string): void {
  const open = { config: { access: 'open' as const, quiet: true, share: 'files' as const } }
  app.get('/', open, async (_request, reply) => reply.redirect('/ui/'))
  app.get('/ui', open, async (_request, reply) => reply.redirect('/ui/'))
  app.get<{ Params: { '*': string } }>('/ui/*', open, async (request, reply) => {
    const file = await findFile(folder, request.params['*'])
    if (file === null)
      throw new VitrinaError('ROUTE_NOT_FOUND', 'The console has no such file.', 'Open /ui/.')
    // Only styles that the libraries of the console write themselves carry it; it is worth nothing to a script.
    const nonce = randomBytes(16).toString('base64')
    const isPage = extname(file.path) === '.html'
    // Pages carry a nonce of their own and are packed on their way; everything else was packed by the build.
    const packed = isPage ? null : await findPacked(file, packingFor(request.headers['accept-encoding']))
    if (packed !== null) reply.header('content-encoding', packed.packing).header('vary', 'accept-encoding')
    return reply
      .type(TYPES[extname(file.path)] ?? 'application/octet-stream')
      .header('content-security-policy', policy(nonce))
      .header(
        'cache-control',
        file.path.includes(`${sep}assets${sep}`) ? 'public, max-age=31536000, immutable' : 'no-cache',
      )
      .send(isPage ? file.content.toString('utf8').replace(NONCE, nonce) : (packed ?? file).content)
  })
}

interface File {
  readonly path: string
  readonly content: Buffer
}

const SUFFIXES: Readonly<Record<Packing, string>> = { br: '.br', gzip: '.gz' }

async function findPacked(
  { path }: File,
  packing: Packing | null,
): Promise<{ packing: Packing; content: Buffer } | null> {
  if (packing === null) return null
  const content = await readFile(path + SUFFIXES[packing]).catch(() => null)
  return content === null ? null : { packing, content }
}

/** A path without an extension is a page of the console, which finds its way by itself. */
async function findFile(folder: string, path: string): Promise<File | null> {
  // What begins with a dot is nobody's page: the build leaves its notes there.
  if (/(^|\/)\./.test(path)) return null
  return read(folder, extname(path) === '' ? 'index.html' : path)
}

async function read(folder: string, path: string): Promise<File | null> {
  try {
    const root = await realpath(folder)
    // After links are followed: neither ".." nor a link may lead out of the folder.
    const real = await realpath(join(root, path))
    return real.startsWith(root + sep) ? { path: real, content: await readFile(real) } : null
  } catch (error) {
    if (
      ['ENOENT', 'ENOTDIR', 'EISDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'].includes(
        String((error as { code?: unknown }).code),
      )
    )
      return null
    throw error
  }
}

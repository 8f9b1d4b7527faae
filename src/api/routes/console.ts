import { randomBytes } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { VitrinaError } from '../../model/errors.js'
import { type Packing, packingFor } from '../http/packing.js'
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

/** The placeholder of the nonce in index.html. */
const NONCE = '{{csp-nonce}}'

/** No scripts or styles except our own files; style elements only with the nonce of this page. */
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

/** The files of the console. They contain no secrets: the API still requires a token. */
export function consoleRoutes(app: Api, folder: string): void {
  const open = { config: { access: 'open' as const, quiet: true, share: 'files' as const } }
  app.get('/', open, async (_request, reply) => reply.redirect('/ui/'))
  app.get('/ui', open, async (_request, reply) => reply.redirect('/ui/'))
  app.get<{ Params: { '*': string } }>('/ui/*', open, async (request, reply) => {
    const file = await findFile(folder, request.params['*'])
    if (file === null)
      throw new VitrinaError('ROUTE_NOT_FOUND', 'The console file does not exist.', 'Open /ui/.')
    // Only styles that the libraries of the console insert carry it; it does not allow scripts.
    const nonce = randomBytes(16).toString('base64')
    const isPage = extname(file.path) === '.html'
    // Pages have their own nonce and are compressed when sent; everything else was compressed by the build.
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

/** A path without an extension is a page of the console, which does its own routing. */
async function findFile(folder: string, path: string): Promise<File | null> {
  // Names that begin with a dot are not pages: the build keeps its notes there.
  if (/(^|\/)\./.test(path)) return null
  return read(folder, extname(path) === '' ? 'index.html' : path)
}

async function read(folder: string, path: string): Promise<File | null> {
  try {
    const root = await realpath(folder)
    // After links are resolved: neither ".." nor a link may lead out of the folder.
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

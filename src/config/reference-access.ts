import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'

/** The text of a reference, or why it is not available. */
export type ReferenceText =
  | { readonly text: string; readonly path: string }
  | { readonly text?: undefined; readonly message: string }

export interface ReferenceLimits {
  /** Patterns such as `FILM_*`. Without any, no environment variable can be read. */
  readonly allowEnv?: readonly string[]
}

const MAX_BYTES = 1024 * 1024
/** Of all references of one YAML file: each may be repeated as often as there is room for it. */
const MOST_BYTES = 16 * MAX_BYTES

/** Never readable, whatever is allowed: settings of Vitrina, of its services, and names that suggest a secret. */
const PROTECTED =
  /^(VITRINA_|PG|ELASTICSEARCH_|CLICKHOUSE_|S3_|AWS_|OTEL_)|(^|_)(URL|URI|DSN|PAT|SAS)(_|$)|SECRET|PASS|PWD|TOKEN|CREDENTIAL|KEY|AUTH|COOKIE|PRIVATE|CERT|SIGNATURE|SESSION|JWT|BEARER|SALT|WEBHOOK|CONN(ECTION)?_?STR/i

/** Except names that begin with two dots: Kubernetes mounts the files of a ConfigMap as links into such a folder. */
const HIDDEN = /^\.(?!\.)/

/**
 * What a pipeline file may read besides itself. The files come from a pull request, the command runs with the secrets
 * of a deployment: a reference must not copy those into a printed plan or a saved pipeline.
 */
export class ReferenceAccess {
  readonly #folder: string
  readonly #allowed: readonly RegExp[]
  #left = MOST_BYTES

  /** @param file the YAML file; `-` is standard input, whose folder is the working directory. */
  constructor(file: string, { allowEnv = [] }: ReferenceLimits = {}) {
    this.#folder = file === '-' ? '.' : dirname(file)
    this.#allowed = allowEnv.map(asExpression)
  }

  variable(name: string): ReferenceText {
    if (PROTECTED.test(name))
      return { message: `the environment variable ${name} may contain a secret and cannot be referenced` }
    if (!this.#allowed.some((pattern) => pattern.test(name)))
      return { message: `the environment variable ${name} is not allowed; add --allow-env ${name}` }
    const text = process.env[name]
    if (text === undefined || text === '') return { message: `the environment variable ${name} is not set` }
    return { text, path: name }
  }

  /**
   * Only files below the folder of the YAML file, after links are resolved, and no hidden ones: in a checkout, .git/config
   * may contain the token of the CI, and .env or .vitrina the secrets of a deployment.
   */
  async file(name: string): Promise<ReferenceText> {
    try {
      const folder = await realpath(this.#folder)
      const path = await realpath(isAbsolute(name) ? name : join(folder, name))
      if (!isBelow(folder, path)) return { message: 'it is outside the folder of this file' }
      if (isHiddenPath(folder, path)) return { message: 'it is hidden, or in a hidden folder' }
      const found = await stat(path)
      if (!found.isFile()) return { message: 'it is not a regular file' }
      if (found.size > MAX_BYTES) return { message: 'it is larger than 1 MiB' }
      this.#left -= found.size
      if (this.#left < 0) return { message: 'the references of this file add up to more than 16 MiB' }
      return { text: await readFile(path, 'utf8'), path: isAbsolute(name) ? name : join(this.#folder, name) }
    } catch (error) {
      return { message: (error as Error).message }
    }
  }
}

/** Whether the file, or a folder between it and this one, is hidden. */
export function isHiddenPath(folder: string, path: string): boolean {
  return relative(folder, path)
    .split(sep)
    .some((part) => HIDDEN.test(part))
}

export function isBelow(folder: string, path: string): boolean {
  const way = relative(folder, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function asExpression(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`)
}

import { constants } from 'node:fs'
import { chmod, copyFile, link, mkdir, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { Binaries } from './binaries.js'
import { absentAsNull, hasCode, randomName } from './files.js'

/** Names of unfinished work. A killed start leaves them; the next one removes them. */
export const DRAFT_RUNTIME = '.runtime-'

/**
 * The binaries, next to the data. The package alone is not enough: its links are missing if npm ran no install scripts,
 * and the account that runs the server may not be able to reach node_modules.
 */
export async function ensureRuntime(base: string, binaries: Binaries): Promise<string> {
  const runtime = join(base, `runtime-${binaries.version}`)
  if ((await absentAsNull(stat(runtime))) !== null) return runtime
  const draft = join(base, `${DRAFT_RUNTIME}${randomName()}`)
  try {
    await mirror(binaries.native, draft)
    await makeLinks(binaries.native, draft)
    await rename(draft, runtime)
    return runtime
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

async function mirror(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  const entries = await readdir(from, { withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  await Promise.all(files.map(async ({ name }) => await place(join(from, name), join(to, name))))
  for (const { name } of entries.filter((entry) => entry.isDirectory()))
    await mirror(join(from, name), join(to, name))
}

/** Linking 60 MB takes 0.1 s. A link shares its mode with node_modules, so an unsuitable mode requires a copy. */
async function place(from: string, to: string): Promise<void> {
  const wanted = dirname(to).endsWith('/bin') ? 0o755 : 0o644
  const { mode } = await stat(from)
  if ((mode & 0o005 & wanted) === (0o005 & wanted) && (await linked(from, to))) return
  await copyFile(from, to, constants.COPYFILE_FICLONE)
  await chmod(to, wanted)
}

/** Another file system, a file of another user, too many links: in every case a copy works too. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch {
    return false
  }
}

/** `native/pg-symlinks.json` is read by the package's install script: `target` must point to `source`. */
async function makeLinks(native: string, draft: string): Promise<void> {
  const text = await absentAsNull(readFile(join(native, 'pg-symlinks.json'), 'utf8'))
  const links = JSON.parse(text ?? '[]') as { source: string; target: string }[]
  for (const { source, target } of links) {
    const path = join(draft, relative('native', target))
    await symlink(relative(dirname(target), source), path).catch((error) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
  }
}

/** Removes old versions and unfinished work. Call it only as the owner, with no server running. */
export async function removeLeftovers(base: string, keep: string, drafts: readonly string[]): Promise<void> {
  const names = await readdir(base)
  const old = names.filter((name) => name.startsWith('runtime-') && join(base, name) !== keep)
  const unfinished = names.filter((name) => drafts.some((prefix) => name.startsWith(prefix)))
  // Retries: an initdb of the killed start may still be writing its last files.
  for (const name of [...old, ...unfinished])
    await rm(join(base, name), { recursive: true, force: true, maxRetries: 10 })
}

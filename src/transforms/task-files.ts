import type { Dirent } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Folders of tools, and names that mark private files. */
const SKIPPED = /^(?:[._].*|node_modules|site-packages)$/

/** Task files below a folder, with slashes, sorted. A missing folder has none. */
export async function taskFiles(folder: string, extensions: readonly string[]): Promise<string[]> {
  return (await filesBelow(folder)).filter((file) => isTaskFile(file, extensions)).sort()
}

/** Changes whenever one of the files, or a file that they may import, changes. */
export async function fingerprint(folder: string, extensions: readonly string[]): Promise<string> {
  const files = (await filesBelow(folder)).filter((file) => extensions.some((end) => file.endsWith(end)))
  const marks = await Promise.all(
    files.sort().map(async (file) => {
      const found = await stat(join(folder, file), { bigint: true }).catch(() => null)
      return `${file}:${found?.mtimeNs}:${found?.size}:${found?.ino}`
    }),
  )
  return marks.join('\n')
}

function isTaskFile(file: string, extensions: readonly string[]): boolean {
  const name = file.slice(file.lastIndexOf('/') + 1)
  return !/^[._]/.test(name) && !name.endsWith('.d.ts') && extensions.some((end) => name.endsWith(end))
}

async function filesBelow(folder: string, prefix = ''): Promise<string[]> {
  const entries = await readdir(join(folder, prefix), { withFileTypes: true }).catch(() => [])
  const found = await Promise.all(entries.map((entry) => filesOf(folder, prefix, entry)))
  return found.flat()
}

async function filesOf(folder: string, prefix: string, entry: Dirent): Promise<string[]> {
  const path = `${prefix}${entry.name}`
  if (entry.isDirectory() && !SKIPPED.test(entry.name) && !(await isVirtualEnvironment(join(folder, path))))
    return filesBelow(folder, `${path}/`)
  return entry.isFile() || entry.isSymbolicLink() ? [path] : []
}

function isVirtualEnvironment(folder: string): Promise<boolean> {
  return access(join(folder, 'pyvenv.cfg')).then(
    () => true,
    () => false,
  )
}

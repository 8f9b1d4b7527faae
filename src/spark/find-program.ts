import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** The full path of a program that can be executed, by its path or by its name in PATH. Null: not found. */
export async function findProgram(name: string, path: string): Promise<string | null> {
  const places = name.includes('/')
    ? [name]
    : path
        .split(delimiter)
        .filter((folder) => folder !== '')
        .map((folder) => join(folder, name))
  for (const place of places) if (await isExecutable(place)) return place
  return null
}

async function isExecutable(place: string): Promise<boolean> {
  try {
    await access(place, constants.X_OK)
    return (await stat(place)).isFile()
  } catch {
    return false
  }
}

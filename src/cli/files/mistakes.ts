import type { FilePipeline } from '../../config/pipeline-file.js'
import { type FileMistake, mistakeLines } from '../../config/source-text.js'
import { VitrinaError } from '../../model/errors.js'
import { note } from '../output/print.js'
import { ApiError } from '../server/api-error.js'

/** Shows every mistake at its place, then throws. */
export function requireNoMistakes(mistakes: readonly FileMistake[]): void {
  if (mistakes.length > 0) throw invalidFile(mistakes)
}

/** Shows every mistake at its place. */
export function invalidFile(mistakes: readonly FileMistake[]): VitrinaError {
  for (const mistake of mistakes) for (const line of mistakeLines(mistake)) note(line)
  const files = new Set(mistakes.map(({ place }) => place.file))
  const count = mistakes.length === 1 ? '1 mistake' : `${mistakes.length} mistakes`
  return new VitrinaError(
    'FILE_INVALID',
    `${count} in ${[...files].join(', ')}.`,
    'Fix the places above; nothing was changed. "vitrina schema" prints a JSON Schema for editors.',
  )
}

/** Shows an error of the server at the place of the field in the file. */
export async function inPlaceOf<T>(file: FilePipeline | null, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (file !== null && error instanceof ApiError && error.mistakes.length > 0)
      requireNoMistakes(fileMistakes(file, error))
    throw error
  }
}

export function fileMistakes(file: FilePipeline, error: ApiError): FileMistake[] {
  return error.mistakes.map(({ field, message }) => {
    // The guard reports a position within the query.
    const [, line, column, rest] = /^line (\d+), column (\d+): (.*)$/s.exec(message) ?? []
    const position = line === undefined ? null : { line: Number(line), column: Number(column) }
    return { place: file.locate(field, position), message: `${field}: ${rest ?? message}` }
  })
}

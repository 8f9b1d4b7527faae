import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { VitrinaError } from '../model/errors.js'
import type { JsonSchema } from './json-schema.js'
import {
  type FileOptions,
  type FilePipeline,
  joined,
  type PipelineFile,
  readPipelineFile,
} from './pipeline-file.js'
import { isBelow, isHiddenPath } from './reference-access.js'
import { type FileMistake, SourceText } from './source-text.js'
import { unreadableFile } from './unreadable-file.js'

const MAX_BYTES = 4 * 1024 * 1024

/** Reads files, folders recursively, and stdin as "-". */
export async function readPipelineFiles(
  paths: readonly string[],
  schema: JsonSchema,
  options: FileOptions = {},
): Promise<PipelineFile> {
  const files = (await Promise.all(paths.map(filesAt))).flat()
  const parts: PipelineFile[] = []
  for (const file of new Set(files))
    parts.push(await readPipelineFile(await readSource(file), schema, options))
  const all = joined(parts)
  const repeated = [...sameNames(all.pipelines), ...sameNames(all.notifications ?? [])]
  return { ...all, mistakes: [...all.mistakes, ...repeated] }
}

async function filesAt(path: string): Promise<string[]> {
  if (path === '-') return [path]
  const found = await stat(path).catch((error: Error) => {
    throw unreadableFile(path, error, 'Give existing files and folders, or - for stdin.')
  })
  if (!found.isDirectory()) {
    await requirePlainFile(path)
    return [path]
  }
  const entries = await readdir(path, { withFileTypes: true, recursive: true })
  const files = entries
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.slice(path.length).includes('/.'))
  if (files.length > 0) return files.sort()
  throw new VitrinaError(
    'FILE_INVALID',
    `No .yaml files in ${path}.`,
    'Give a folder with pipeline files; "vitrina export --out" creates one.',
  )
}

async function readSource(file: string): Promise<SourceText> {
  if (file === '-') return new SourceText('-', await text(process.stdin))
  const hint = 'Give existing files and folders, or - for stdin.'
  const { size } = await stat(file).catch((error: Error) => {
    throw unreadableFile(file, error, hint)
  })
  if (size > MAX_BYTES)
    throw new VitrinaError(
      'FILE_INVALID',
      `${file} is larger than 4 MiB.`,
      'Split it: a folder may contain any number of files.',
    )
  const content = await readFile(file, 'utf8').catch((error: Error) => {
    throw unreadableFile(file, error, hint)
  })
  return new SourceText(file, content)
}

/** A link to a file elsewhere, or to a hidden one such as .git/config, would print lines of that file as mistakes. */
async function requirePlainFile(path: string): Promise<void> {
  const [folder, target] = await Promise.all([realpath(dirname(path)), realpath(path)])
  const isLink = target !== join(folder, basename(path))
  const where = !isBelow(folder, target)
    ? 'outside its folder'
    : isHiddenPath(folder, target)
      ? 'that is hidden'
      : null
  if (!isLink || where === null) return
  throw new VitrinaError(
    'FILE_INVALID',
    `${path} is a link to a file ${where}.`,
    'Pass the file that the link points to.',
  )
}

/** A name identifies one pipeline, or one rule, across all files. */
function sameNames(pipelines: readonly FilePipeline[]): FileMistake[] {
  const first = new Map<string, FilePipeline>()
  return pipelines.flatMap((pipeline) => {
    const other = first.get(pipeline.name)
    if (other === undefined) first.set(pipeline.name, pipeline)
    if (other === undefined || pipeline.name === '') return []
    const { file, line } = other.locate('name')
    return [{ place: pipeline.locate('name'), message: `"${pipeline.name}" is already in ${file}:${line}` }]
  })
}

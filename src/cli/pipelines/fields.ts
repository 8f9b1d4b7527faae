import type { Command } from 'commander'
import type { FilePipeline } from '../../config/pipeline-file.js'
import { readPipelineFiles } from '../../config/pipeline-files.js'
import { readPipelineSchema } from '../../config/pipeline-schema.js'
import type { ReferenceLimits } from '../../config/reference-access.js'
import { PIPELINE_SCHEMA } from '../../main/paths.js'
import { VitrinaError } from '../../model/errors.js'
import { PIPELINE_FIELD_NAMES } from '../../model/pipeline-fields.js'
import { requireNoMistakes } from '../files/mistakes.js'
import type { Format } from '../output/format.js'
import { allowEnvOption, readInput } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import type { Fields } from '../server/wire.js'
import { fieldOptions, flagOf } from './field-options.js'

export interface FieldFlags extends ServerFlags {
  readonly output?: Format
  readonly file?: string
  readonly query?: string
  readonly queryFile?: string
  readonly allowEnv?: readonly string[]
  readonly [flag: string]: unknown
}

/** The options that create and update share. */
export function addFieldOptions(command: Command): Command {
  command
    .option('--file <file>', 'a YAML file with the fields, - for stdin; flags override it')
    .addOption(allowEnvOption())
  for (const name of PIPELINE_FIELD_NAMES) {
    for (const option of fieldOptions(name)) command.addOption(option)
    if (name === 'source_query') command.option('--query-file <file>', 'the query from a file, - for stdin')
  }
  return command
}

/** The given fields: the file first, then the flags. `file` is null without one. */
export async function fieldsOfFlags(
  flags: FieldFlags,
): Promise<{ fields: Fields; file: FilePipeline | null }> {
  const file = flags.file === undefined ? null : await readOne(flags.file, flags)
  const fields: Fields = { ...file?.fields }
  for (const name of PIPELINE_FIELD_NAMES) {
    const flag = flagOf(name)
    if (flags[flag] !== undefined) fields[name] = flags[flag]
  }
  // A source given by a flag replaces the other kind of source in the file.
  if (flags.sourceTable !== undefined) delete fields.source_query
  if (flags.query !== undefined || flags.queryFile !== undefined) {
    if (flags.sourceTable === undefined) delete fields.source_table
    if (flags.sourceColumns === undefined) delete fields.source_columns
  }
  if (flags.queryFile !== undefined) fields.source_query = (await readInput(flags.queryFile)).trimEnd()
  return { fields, file }
}

/** Every pipeline in a file or a folder. */
export async function readSome(path: string, limits: ReferenceLimits = {}): Promise<readonly FilePipeline[]> {
  const { pipelines, mistakes } = await readPipelineFiles([path], readPipelineSchema(PIPELINE_SCHEMA), limits)
  requireNoMistakes(mistakes)
  return pipelines
}

/** The only pipeline in a file. */
export async function readOne(path: string, limits: ReferenceLimits = {}): Promise<FilePipeline> {
  const pipelines = await readSome(path, limits)
  const [only, ...more] = pipelines
  if (only !== undefined && more.length === 0) return only
  throw new VitrinaError(
    'USAGE_INVALID',
    `${path} contains ${pipelines.length} pipelines, but this command needs exactly one.`,
    'Give a file with one pipeline; "vitrina apply" accepts files with several.',
  )
}

import { type Command, InvalidArgumentError, Option } from 'commander'
import type { FilePipeline } from '../../config/pipeline-file.js'
import { readPipelineFiles } from '../../config/pipeline-files.js'
import { readPipelineSchema } from '../../config/pipeline-schema.js'
import type { ReferenceLimits } from '../../config/reference-access.js'
import { PIPELINE_SCHEMA } from '../../main/paths.js'
import { VitrinaError } from '../../model/errors.js'
import { CAPTURES } from '../../model/pipeline.js'
import { allowEnvOption, collect, decimal, readInput, wholeNumber } from '../command.js'
import type { Format } from '../format.js'
import { requireNoMistakes } from '../mistakes.js'
import type { ServerFlags } from '../server/connection.js'
import type { Fields } from '../server/wire.js'

export interface FieldFlags extends ServerFlags {
  readonly output?: Format
  readonly file?: string
  readonly query?: string
  readonly queryFile?: string
  readonly allowEnv?: readonly string[]
  readonly [flag: string]: unknown
}

/** Flags whose value is used unchanged, and the field that each one sets. */
const PLAIN: Readonly<Record<string, string>> = {
  name: 'name',
  description: 'description',
  sourceTable: 'source_table',
  sourceColumns: 'source_columns',
  target: 'target_table',
  mode: 'mode',
  fullStrategy: 'full_strategy',
  key: 'key_columns',
  incrementalKey: 'incremental_key',
  incrementalIdKey: 'incremental_id_key',
  capture: 'capture',
  deletes: 'deletes',
  batchSize: 'batch_size',
  schedule: 'schedule_interval',
  timezone: 'schedule_timezone',
  sourceConnection: 'source_connection',
  targetConnection: 'target_connection',
  sharedTarget: 'shared_target',
  quarantineLimit: 'quarantine_limit',
  deleteBrake: 'delete_brake',
  enabled: 'enabled',
}

/** The options that create and update share. */
export function addFieldOptions(command: Command): Command {
  return command
    .option('--file <file>', 'a YAML file with the fields, - for stdin; flags override it')
    .addOption(allowEnvOption())
    .option('--name <name>', 'name of the pipeline')
    .option('--description <text>', 'what the pipeline is for')
    .option('--query <sql>', 'the SELECT whose rows fill the mart')
    .option('--query-file <file>', 'the query from a file, - for stdin')
    .option('--source-table <table>', 'a table to read instead of a query, such as content.film_work')
    .option(
      '--source-columns <columns>',
      'columns of the table; repeat the option or separate with commas',
      collect,
    )
    .option('--target <table>', 'address of the mart, such as analytics.film_dim')
    .option('--key <columns>', 'the upsert key; repeat the option or separate with commas', collect)
    .addOption(new Option('--mode <mode>', 'what a run reads').choices(['full', 'incremental']))
    .addOption(new Option('--full-strategy <how>', 'how mode full writes').choices(['upsert', 'replace']))
    .option('--incremental-key <column>', 'column that grows with every change')
    .option('--incremental-id-key <column>', 'column that distinguishes rows with an equal incremental key')
    .addOption(new Option('--capture <how>', 'how changes are found').choices([...CAPTURES]))
    .addOption(
      new Option('--deletes <how>', 'what to do with rows deleted from the source').choices([
        'ignore',
        'sweep',
      ]),
    )
    .option('--batch-size <n>', 'rows per batch, or auto', batchSize)
    .option('--schedule <interval>', '15m, PT15M or a cron expression')
    .option('--timezone <zone>', 'time zone of a cron expression')
    .option('--source-connection <name>', 'the database to read from')
    .option('--target-connection <name>', 'the database to write to')
    .option('--shared-target', 'allow other pipelines with this option to write to the same target')
    .option('--no-shared-target', 'do not allow other pipelines to write to the same target')
    .option('--quarantine-limit <n>', 'rows that may be quarantined before a run fails', wholeNumber)
    .option('--delete-brake <share>', 'share of the mart that one run may delete', decimal)
}

/** The given fields: the file first, then the flags. `file` is null without one. */
export async function readFields(flags: FieldFlags): Promise<{ fields: Fields; file: FilePipeline | null }> {
  const file = flags.file === undefined ? null : await readOne(flags.file, flags)
  const fields: Fields = { ...file?.fields }
  for (const [flag, field] of Object.entries(PLAIN))
    if (flags[flag] !== undefined) fields[field] = flags[flag]
  // A source given by a flag replaces the other kind of source in the file.
  if (flags.sourceTable !== undefined) delete fields.source_query
  if (flags.query !== undefined || flags.queryFile !== undefined) {
    if (flags.sourceTable === undefined) delete fields.source_table
    if (flags.sourceColumns === undefined) delete fields.source_columns
  }
  if (flags.query !== undefined) fields.source_query = flags.query
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

function batchSize(given: string): number | 'auto' {
  if (given === 'auto') return given
  if (!/^[1-9]\d{0,6}$/.test(given)) throw new InvalidArgumentError('Enter a whole number or auto.')
  return Number(given)
}

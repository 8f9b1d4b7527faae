import type { Command } from 'commander'
import type { FilePipeline } from '../../config/pipeline-file.js'
import { VitrinaError } from '../../model/errors.js'
import { inPlaceOf } from '../files/mistakes.js'
import { inFile, inTexts, type Locate, printFinding } from '../files/print-finding.js'
import { type Format, isData, printData } from '../output/format.js'
import { bad, dim, good, print } from '../output/print.js'
import { printTable } from '../output/print-table.js'
import { allowEnvOption, readingCommand } from '../program/command.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer, type Server } from '../server/server.js'
import type { Pipeline, Validation } from '../server/wire.js'
import { readSome } from './fields.js'

interface Flags extends ServerFlags {
  readonly output?: Format
  readonly file?: string
  readonly offline?: boolean
  readonly allowEnv?: readonly string[]
}

export function addValidate(pipelines: Command): void {
  readingCommand(pipelines, {
    usage: 'validate [pipeline]',
    description:
      'Validate a pipeline, and show how a run would read and write. Exit code 1 if it is invalid.',
    examples: [
      'pipelines validate film_dim',
      'pipelines validate --file film_dim.yaml',
      'pipelines validate --file pipelines/',
      'pipelines validate --file pipelines/ --offline',
    ],
  })
    .option('--file <file>', 'a YAML file or folder with unsaved pipelines, - for stdin')
    .addOption(allowEnvOption())
    .option('--offline', 'do not contact a server; check only the files')
    .action(validate)
}

async function validate(name: string | undefined, flags: Flags): Promise<void> {
  requireOne(name, flags.file)
  if (flags.offline && flags.file === undefined)
    throw new VitrinaError('USAGE_INVALID', '--offline requires --file.', 'Add --file.')
  const files = flags.file === undefined ? [] : await readSome(flags.file, flags)
  if (flags.offline) return printOffline(files, flags)
  const server = await openServer(flags)
  const validated = name === undefined ? [] : [await validateSaved(server, name)]
  for (const file of files) validated.push(await validateFile(server, file))
  if (validated.some(({ answer }) => !answer.valid)) process.exitCode = 1
  if (isData(flags)) printData(toJson(validated), flags)
  else for (const one of validated) printValidation(one)
}

/** Errors have been printed by then. */
function printOffline(files: readonly FilePipeline[], flags: Flags): void {
  const items = files.map(({ name }) => ({ name, valid: true }))
  if (isData(flags)) printData({ items }, flags)
  else for (const { name } of items) print(`${good('✓')} ${name}: no errors found without a server.`)
}

interface ValidatedPipeline {
  readonly title: string
  readonly answer: Validation
  readonly locate: Locate
}

/** The response of the API; several responses are keyed by name. */
function toJson(validated: readonly ValidatedPipeline[]): unknown {
  if (validated.length === 1) return validated[0]?.answer
  return { items: validated.map(({ title, answer }) => ({ name: title, ...answer })) }
}

async function validateFile(server: Server, file: FilePipeline): Promise<ValidatedPipeline> {
  const body = file.fields as never
  const answer = await inPlaceOf(file, () => server.ask(server.api.POST('/validate', { body })))
  return { answer, locate: inFile(file), title: file.name }
}

async function validateSaved(server: Server, name: string): Promise<ValidatedPipeline> {
  const pipeline = await findPipeline(server, name)
  const params = { path: { id: pipeline.id } }
  const answer = await server.ask(server.api.POST('/pipelines/{id}/validate', { params }))
  return { answer, locate: inTexts(textsOf(pipeline)), title: pipeline.name }
}

function textsOf({ source_query, tasks }: Pipeline): Record<string, string> {
  const query: Record<string, string> = source_query === null ? {} : { source_query }
  return { ...query, ...Object.fromEntries(tasks.map(({ body }, n) => [`tasks.${n}.body`, body])) }
}

function printValidation({ title: name, answer, locate }: ValidatedPipeline): void {
  for (const finding of answer.errors) printFinding(finding, 'error', locate)
  for (const finding of answer.warnings) printFinding(finding, 'warning', locate)
  if (answer.valid) printStrategy(name, answer)
  else print(`${bad('✗')} ${name} is invalid.`)
}

function printStrategy(name: string, answer: Validation): void {
  const ways = [answer.strategy, answer.way, answer.reads, answer.guarantee].filter((word) => word !== null)
  print(
    `${good('✓')} ${name} is valid: ${ways.join(', ')}${answer.creates_target ? ', creates its target' : ''}.`,
  )
  printTable(
    ['column', 'type'],
    answer.columns.map((column) => [column.name, column.type]),
    'The query returns no columns.',
  )
  if (answer.changes !== null) printChanges(answer.changes)
}

/** How changes are followed; what is wrong with it is among the warnings. */
function printChanges({
  full,
  scope,
  full_cost,
  tables,
  followed,
}: NonNullable<Validation['changes']>): void {
  if (full !== null) {
    print('A run that finds changes computes the whole query.')
    return
  }
  print(`A change recomputes the rows with the same (${scope.join(', ')}).`)
  if (followed.length > 0)
    print(`Followed columns: ${followed.map(({ table, column }) => `${table}.${column}`).join(', ')}.`)
  printTable(
    ['table', 'traced', 'cost of one row', 'cost of all rows', 'identity', 'lossless'],
    tables.map(({ table, traced, cost, identity }) => [
      table,
      traced ? 'yes' : 'no',
      cost === null ? null : Math.round(cost),
      full_cost === null ? null : Math.round(full_cost),
      identity === null ? null : `${identity.identity} (${identity.columns.join(', ')})`,
      identity === null ? null : identity.is_lossless ? 'yes' : 'no',
    ]),
    'The query does not read a table.',
  )
  for (const { table, key_queries } of tables)
    for (const text of key_queries) print(dim(`Key query of ${table}: ${text}`))
}

/** Exactly one of a saved pipeline and a file. */
export function requireOne(name: string | undefined, file: string | undefined): void {
  if ((name === undefined) !== (file === undefined)) return
  throw new VitrinaError(
    'USAGE_INVALID',
    'Give either the name of a pipeline or --file.',
    'For example: --file film_dim.yaml',
  )
}

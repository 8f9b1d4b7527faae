import type { Command } from 'commander'
import { VitrinaError } from '../../model/errors.js'
import { readingCommand } from '../command.js'
import { inFile, inTexts, type Locate, printFinding } from '../findings.js'
import { inPlaceOf } from '../mistakes.js'
import { bad, good, print, printJson } from '../output.js'
import type { ServerFlags } from '../server/connection.js'
import { findPipeline } from '../server/find-pipeline.js'
import { openServer, type Server } from '../server/server.js'
import type { Pipeline, Validation } from '../server/wire.js'
import { printTable } from '../show.js'
import { readOne } from './fields.js'

interface Flags extends ServerFlags {
  readonly json?: boolean
  readonly file?: string
}

export function addValidate(pipelines: Command): void {
  readingCommand(
    pipelines,
    'validate [pipeline]',
    'Say whether a run would start, and how it would read and write. Exit code 1 when it would not.',
    'pipelines validate film_dim',
    'pipelines validate --file film_dim.yaml',
  )
    .option('--file <file>', 'a YAML file with a pipeline that is not saved, - for stdin')
    .action(validate)
}

async function validate(name: string | undefined, flags: Flags): Promise<void> {
  requireOne(name, flags.file)
  const file = flags.file === undefined ? null : await readOne(flags.file)
  const server = await openServer(flags)
  const { answer, locate, title } =
    file === null
      ? await validateSaved(server, name ?? '')
      : {
          answer: await inPlaceOf(file, () =>
            server.ask(server.api.POST('/validate', { body: file.fields as never })),
          ),
          locate: inFile(file),
          title: file.name,
        }
  if (!answer.valid) process.exitCode = 1
  if (flags.json) printJson(answer)
  else printValidation(title, answer, locate)
}

async function validateSaved(server: Server, name: string) {
  const pipeline = await findPipeline(server, name)
  const params = { path: { id: pipeline.id } }
  const answer = await server.ask(server.api.POST('/pipelines/{id}/validate', { params }))
  return { answer, locate: inTexts(textsOf(pipeline)), title: pipeline.name }
}

function textsOf({ source_query, tasks }: Pipeline): Record<string, string> {
  return { source_query, ...Object.fromEntries(tasks.map(({ body }, n) => [`tasks.${n}.body`, body])) }
}

function printValidation(name: string, answer: Validation, locate: Locate): void {
  for (const finding of answer.errors) printFinding(finding, 'error', locate)
  for (const finding of answer.warnings) printFinding(finding, 'warning', locate)
  if (!answer.valid) return print(`${bad('✗')} ${name} is not valid.`)
  const ways = [answer.strategy, answer.way, answer.reads, answer.guarantee].filter((word) => word !== null)
  print(
    `${good('✓')} ${name} is valid: ${ways.join(', ')}${answer.creates_target ? ', creates its target' : ''}.`,
  )
  printTable(
    ['column', 'type'],
    answer.columns.map((column) => [column.name, column.type]),
    'It returns no columns.',
  )
}

/** A saved pipeline or a file, not both and not neither. */
export function requireOne(name: string | undefined, file: string | undefined): void {
  if ((name === undefined) !== (file === undefined)) return
  throw new VitrinaError(
    'USAGE_INVALID',
    'Give the name of a pipeline or --file, one of them.',
    'For example: --file film_dim.yaml',
  )
}

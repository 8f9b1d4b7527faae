import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import { fileProblem } from '../config/file-problem.js'
import { readFileSchemas, readSchemaText } from '../config/pipeline-schema.js'
import { rulesToYaml, SCHEMA_FILE, toYaml } from '../config/pipeline-yaml.js'
import { PIPELINE_SCHEMA } from '../main/paths.js'
import { VitrinaError } from '../model/errors.js'
import { detail, print } from './output/print.js'
import { machineText } from './output/terminal-text.js'
import { serverCommand } from './program/command.js'
import type { ServerFlags } from './server/connection.js'
import { findPipeline, listPipelines } from './server/find-pipeline.js'
import { openServer, type Server } from './server/server.js'
import type { Pipeline } from './server/wire.js'

export function addExport(program: Command): void {
  serverCommand(program, {
    usage: 'export [names...]',
    description:
      'Write pipelines as YAML that can be applied again without changes. Without names, the notification rules too.',
    examples: ['export > pipelines.yaml', 'export film_dim genre_dim --out pipelines'],
  })
    .option(
      '--out <folder>',
      'write one file for each pipeline into this folder, with the schema for editors',
    )
    .action(exportPipelines)
}

async function exportPipelines(names: string[], flags: ServerFlags & { out?: string }): Promise<void> {
  const server = await openServer(flags)
  const pipelines = await chosen(server, names)
  const { pipeline: schema, notification } = readFileSchemas(PIPELINE_SCHEMA)
  const rules = names.length > 0 ? [] : (await server.ask(server.api.GET('/notifications', {}))).items
  const texts = [
    ...(rules.length === 0 ? [] : [{ name: 'notifications', text: rulesToYaml(rules, notification) }]),
    ...pipelines.map((pipeline) => ({ name: pipeline.name, text: toYaml(pipeline, schema) })),
  ]
  if (flags.out !== undefined) return writeFolder(flags.out, texts)
  process.stdout.write(machineText(texts.map(({ text }) => text).join('---\n')))
}

/** Lists include all tasks, so one request is enough. */
async function chosen(server: Server, names: readonly string[]): Promise<Pipeline[]> {
  if (names.length === 0) return listPipelines(server)
  return Promise.all(names.map((name) => findPipeline(server, name)))
}

async function writeFolder(folder: string, texts: readonly { name: string; text: string }[]): Promise<void> {
  const schema = readSchemaText(PIPELINE_SCHEMA)
  try {
    await mkdir(folder, { recursive: true })
    const taken = new Set<string>()
    for (const { name, text } of texts) {
      const file = join(folder, fileName(name, taken))
      await writeFile(file, text)
      print(file)
    }
    await writeFile(join(folder, SCHEMA_FILE), schema)
  } catch (error) {
    throw new VitrinaError(
      'FILE_INVALID',
      `The files cannot be written to ${folder}: ${fileProblem(error)}.`,
      'Give a folder that this account may write with --out.',
      { cause: error },
    )
  }
  detail(`Run "vitrina diff ${folder}" to compare them with the server.`)
}

/** Names may contain characters that file names may not, and two of them may then collide. */
function fileName(name: string, taken: Set<string>): string {
  const plain =
    name
      .replace(/[^\p{L}\p{N}_.-]+/gu, '_')
      .replace(/^\.+/, '_')
      .slice(0, 60) || 'pipeline'
  let file = plain
  for (let n = 2; taken.has(file.toLowerCase()); n++) file = `${plain}-${n}`
  taken.add(file.toLowerCase())
  return `${file}.yaml`
}

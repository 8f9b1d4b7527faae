import type { Command } from 'commander'
import { readSchemaText } from '../config/pipeline-schema.js'
import { PIPELINE_SCHEMA } from '../main/paths.js'
import { command } from './program/command.js'

export function addSchema(program: Command): void {
  command(program, {
    usage: 'schema',
    description: 'Print the JSON Schema of pipeline files, for editors.',
    examples: ['schema > pipeline.schema.json'],
  }).action(() => void process.stdout.write(readSchemaText(PIPELINE_SCHEMA)))
}

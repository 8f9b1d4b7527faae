import { readFileSync } from 'node:fs'
import { VitrinaError } from '../model/errors.js'
import type { JsonSchema } from './json-schema.js'

/** The text of the schema for editors, generated from the input schemas of the API. */
export function readSchemaText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new VitrinaError(
      'INTERNAL',
      `The schema ${path} does not exist.`,
      'Install Vitrina again, or run "npm run gen" in its folder.',
      { cause: error },
    )
  }
}

/** The schema of a pipeline in a file. */
export function readPipelineSchema(path: string): JsonSchema {
  return readFileSchemas(path).pipeline
}

/** The schemas of what a file may contain. */
export function readFileSchemas(path: string): {
  readonly pipeline: JsonSchema
  readonly notification: JsonSchema
} {
  const { $defs } = JSON.parse(readSchemaText(path)) as {
    $defs: { pipeline: JsonSchema; notification: JsonSchema }
  }
  return $defs
}

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { checkValue } from '../../src/config/json-schema.js'
import { readFileSchemas } from '../../src/config/pipeline-schema.js'
import { PIPELINE_SCHEMA } from '../../src/main/paths.js'
import { type Block, ROOT } from './document-blocks.js'

const run = promisify(execFile)
const PARSE = 'import ast, sys; ast.parse(open(sys.argv[1]).read(), sys.argv[1])'

/** A block that shows a file of the repository must match it; a diff must match its earlier version. */
export async function checkExcerpt(
  language: string,
  text: string,
  { path, isWhole }: NonNullable<Block['source']>,
): Promise<void> {
  const file = await readFile(join(ROOT, path), 'utf8')
  const shown = language === 'diff' ? before(text) : text
  if (isWhole ? `${shown}\n` !== file : !outdented(file).includes(outdented(shown)))
    throw new Error(`This does not match ${path}.`)
  if (language === 'python') await run('python3', ['-c', PARSE, join(ROOT, path)])
}

function before(diff: string): string {
  return diff
    .split('\n')
    .filter((line) => !line.startsWith('+'))
    .map((line) => line.slice(1))
    .join('\n')
}

function outdented(text: string): string {
  return text.replace(/^ +/gm, '')
}

/** Every field exists and has a valid value. A document may show only some of the fields. */
export function checkPipeline(text: string): void {
  const { pipeline, notification } = readFileSchemas(PIPELINE_SCHEMA)
  const { required: _, ...schema } = pipeline
  const shown = parse(text)
  const mistakes = Array.isArray(shown?.notifications)
    ? shown.notifications.flatMap((rule: unknown) => checkValue(notification, rule))
    : checkValue(schema, shown)
  if (mistakes.length > 0)
    throw new Error(mistakes.map(({ message }: { message: string }) => message).join('\n'))
}

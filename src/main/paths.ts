import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The package's own folder: two levels up, from src/main as from dist/main. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const BIN = join(ROOT, 'bin/vitrina.js')
export const PIPELINE_SCHEMA = join(ROOT, 'schemas/pipeline.schema.json')
export const CINEMA_DIR = join(ROOT, 'examples/cinema')
export const CONSOLE_DIR = join(ROOT, 'console/dist')
export const VERSION = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string })
  .version

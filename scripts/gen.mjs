import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { ensureBuilt } from './lib/build.mjs'
import {
  cinemaSql,
  clientTypes,
  commandsPage,
  errorsPage,
  fieldsPage,
  metricsPage,
  openApi,
  pipelineDefaults,
  pipelineSchema,
  schemaSql,
  settingsPage,
  settingsSample,
} from './lib/generators.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { PLOT_NAMES, plot } from './lib/plots.mjs'
import { failure, main, ROOT, say } from './lib/run.mjs'

/** Committed files that are made from the code. A new one is a new line here. */
const GENERATED = {
  '.env.sample': settingsSample,
  'console/src/api/pipeline-defaults.ts': pipelineDefaults,
  'docs/reference/settings.md': settingsPage,
  'docs/reference/errors.md': errorsPage,
  'docs/reference/commands.md': commandsPage,
  'docs/reference/pipeline-yaml.md': fieldsPage,
  'docs/reference/metrics.md': metricsPage,
  'docs/reference/openapi.json': openApi,
  ...Object.fromEntries(PLOT_NAMES.map((name) => [`docs/images/scaling-${name}.svg`, () => plot(name)])),
  'examples/cinema/sql/cinema.sql': cinemaSql,
  'schemas/pipeline.schema.json': pipelineSchema,
  'src/client/api-types.ts': clientTypes,
  'src/store/schema.sql': schemaSql,
}

await main(async () => {
  const onlyCheck = process.argv.includes('--check')
  await ensureInstalled()
  await ensureBuilt()
  const stale = []
  for (const [file, generate] of Object.entries(GENERATED)) {
    const text = await generate()
    if (text === read(file)) continue
    stale.push(file)
    if (!onlyCheck) write(file, text)
  }
  if (onlyCheck && stale.length > 0)
    throw failure(
      `Not as their generators make them: ${stale.join(', ')}`,
      'Run "npm run gen" and commit what changed.',
    )
  if (!onlyCheck) say(stale.length === 0 ? '✓ Nothing changed.' : `✓ Written: ${stale.join(', ')}`)
  return 0
})

function read(file) {
  try {
    return readFileSync(join(ROOT, file), 'utf8')
  } catch {
    return null
  }
}

function write(file, text) {
  mkdirSync(dirname(join(ROOT, file)), { recursive: true })
  writeFileSync(join(ROOT, file), text)
}

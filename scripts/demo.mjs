import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuilt } from './lib/build.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { endWithNpm } from './lib/parent.mjs'
import { main, ROOT } from './lib/run.mjs'

endWithNpm()
await main(async () => {
  await ensureInstalled()
  await ensureBuilt()
  // In this very process: one process less that could be killed alone, and no signal has to be passed on.
  const bin = join(ROOT, 'bin/vitrina.js')
  process.argv = [process.execPath, bin, 'demo', ...process.argv.slice(2)]
  await import(pathToFileURL(bin).href)
  return process.exitCode ?? 0
})

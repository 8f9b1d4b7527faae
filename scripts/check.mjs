import { ensureBuilt } from './lib/build.mjs'
import { check } from './lib/check.mjs'
import { ensureInstalled } from './lib/install.mjs'
import { main } from './lib/run.mjs'

await main(async () => {
  await ensureInstalled()
  // Some generated files are made from the built program.
  await ensureBuilt()
  return (await check()) ? 0 : 1
})

#!/usr/bin/env node
import { existsSync } from 'node:fs'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const program = new URL('../dist/bundle/cli.js', import.meta.url)

if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Vitrina needs Node 20.19 or newer; this is Node ${process.versions.node}. Install a newer one from https://nodejs.org`,
  )
  process.exitCode = 1
} else if (!existsSync(program)) {
  console.error('Vitrina is not built yet. Run "npm run build" in its folder, then try again.')
  process.exitCode = 1
} else {
  // Before everything else: modules read the environment when they are loaded.
  const { hideEnvironment } = await import(
    new URL('../dist/bundle/hidden-environment.js', import.meta.url).href
  )
  hideEnvironment()
  const { run } = await import(program.href)
  process.exitCode = await run(process.argv)
}

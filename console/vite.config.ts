import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/**
 * What every screen needs, kept apart from our own code: it stays in the browser's cache when that changes. Not the
 * component library: it is split by use, so that what only one screen shows is loaded with that screen.
 */
const VENDOR = /node_modules\/(react|react-dom|scheduler|@tanstack)\//

export default defineConfig({
  // Served by the API under /ui; see src/api/routes/console.ts.
  base: '/ui/',
  plugins: [react()],
  build: {
    target: 'es2022',
    outDir: 'dist',
    assetsDir: 'assets',
    // The page's policy knows no data: URLs for fonts and scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Sizes are held by tests/e2e/budget.test.ts.
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'vendor', test: VENDOR }] } },
    },
  },
  server: {
    // `npm run dev -w console` beside `vitrina up`.
    proxy: Object.fromEntries(
      ['/api', '/openapi.json', '/docs', '/health'].map((path) => [
        path,
        process.env.VITRINA_URL ?? 'http://127.0.0.1:8080',
      ]),
    ),
  },
})

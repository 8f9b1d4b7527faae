import { availableParallelism } from 'node:os'
import { configDefaults, defineConfig } from 'vitest/config'
import { LongestFirst } from './tests/support/longest-first.js'

// Another sample every day, the same all day: a failure can be repeated without knowing the seed.
process.env.VITRINA_TEST_SEED ||= new Date().toISOString().slice(0, 10)

export default defineConfig({
  test: {
    include: ['{src,console/src,tests}/**/*.test.ts'],
    exclude: [
      ...configDefaults.exclude,
      // They need an Airflow of some 200 MB: `npm run test:airflow` installs it and says where.
      ...(process.env.VITRINA_TEST_AIRFLOW ? [] : ['tests/airflow/**']),
      // They need Spark: `npm run test:spark` installs it and says where.
      ...(process.env.VITRINA_TEST_SPARK ? [] : ['tests/spark/**']),
      // They need a container engine and its images: `npm run test:stand` prepares both.
      ...(process.env.VITRINA_TEST_STAND ? [] : ['tests/stand/**']),
    ],
    globalSetup: [
      'tests/support/temporary-folder.ts',
      'tests/support/programs.ts',
      'tests/support/seed.ts',
      'tests/support/server.ts',
      'tests/support/elasticsearch-server.ts',
    ],
    setupFiles: ['tests/support/leaks.ts'],
    sequence: { sequencer: LongestFirst },
    // Processes: the leak check asks which children a file left behind.
    pool: 'forks',
    // A tenth of the CPU time of these processes went into collecting a small young generation.
    execArgv: ['--max-semi-space-size=64'],
    // Files follow each other in one process, with the modules loaded once: to load them again for each file takes most
    // of a second of CPU time. So no module keeps anything that the next file could find.
    isolate: false,
    // Two more than cores: files wait for servers, leases and processes. With one more, 11 % of the CPU time were unused.
    maxWorkers: availableParallelism() + 2,
    // Generous, because a loaded machine is slow and a wait ends with its fact, not with the clock.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
})

import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longest. Those of src/capture mostly wait, so they alternate with files that need the CPU. */
const LONGEST = [
  'tests/documents/guides.test.ts',
  'tests/integration/freshness.test.ts',
  // The longest of all in `npm run test:long`.
  'tests/e2e/screens.test.ts',
  'tests/crash/group.test.ts',
  'src/capture/captor.test.ts',
  'tests/packaging/installed.test.ts',
  'tests/integration/demo.test.ts',
  'src/capture/change-reader.test.ts',
  'tests/conformance/parts.test.ts',
  'tests/conformance/sinks/postgres.test.ts',
  'tests/crash/capture.test.ts',
  'tests/conformance/sinks/elasticsearch.test.ts',
  'tests/integration/wal-edges.test.ts',
  'tests/integration/supervision.test.ts',
  'tests/e2e/many.test.ts',
  'src/capture/loss.test.ts',
  'tests/integration/elasticsearch-login.test.ts',
]

/**
 * A long file that starts last would keep one worker busy while the others are idle. Vitest only knows the durations
 * of earlier runs in the same clone, and a fresh clone has none.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.findIndex((name) => moduleId.endsWith(`/${name}`))
      return index < 0 ? LONGEST.length : index
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longer than ten seconds on a quiet machine with two cores, longest first. */
const LONGEST = ['tests/e2e/accessibility.test.ts', 'tests/crash/freeze.test.ts', 'tests/crash/kill.test.ts']

/**
 * A long file that starts last would keep one worker busy while the others have nothing left to do. Vitest only knows
 * the durations of earlier runs in the same clone, and a fresh clone has none.
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

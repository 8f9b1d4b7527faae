import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Files that take longer than 35 seconds on a quiet machine with two cores, longest first. */
const LONGEST = [
  'tests/e2e/screens.test.ts',
  'tests/e2e/killed-runner.test.ts',
  'tests/integration/supervision.test.ts',
  'tests/documents/guides.test.ts',
  'tests/e2e/dropped-line.test.ts',
  'tests/integration/cli-apply.test.ts',
  'tests/e2e/late-content.test.ts',
]

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
    // Files of one project side by side: a process is kept only for a next file of the same project.
    const byProject = (a: TestSpecification, b: TestSpecification) =>
      a.project.name < b.project.name ? -1 : 1
    const compare = (a: TestSpecification, b: TestSpecification) =>
      place(a) - place(b) || (a.project === b.project ? 0 : byProject(a, b))
    return (await super.sort(files)).sort(compare)
  }
}

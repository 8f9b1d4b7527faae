import { VitrinaError } from './errors.js'

interface Deletion {
  readonly deleted: number
  /** The number of rows before. */
  readonly size: number
  /** The share that may be deleted. */
  readonly brake: number
}

/** An empty source is more often an upstream error than an intended empty mart. */
export function requireBelowBrake(mart: string, { deleted, size, brake }: Deletion): void {
  if (deleted <= size * brake) return
  throw new VitrinaError(
    'BRAKE',
    `The run would delete ${deleted} of the ${size} rows of ${mart}; delete_brake allows ${Math.round(brake * 100)} %.`,
    'Check that the source is complete. If the deletion is intended, raise delete_brake for this run (1 allows everything).',
  )
}

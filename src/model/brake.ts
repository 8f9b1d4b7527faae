import { VitrinaError } from './errors.js'

/** An empty source is more often a mistake upstream than the wish for an empty mart. */
export function requireBelowBrake(mart: string, deleted: number, size: number, brake: number): void {
  if (deleted <= size * brake) return
  throw new VitrinaError(
    'BRAKE',
    `The run would delete ${deleted} of the ${size} rows of ${mart}; delete_brake allows ${Math.round(brake * 100)} %.`,
    'See whether the source is complete. If the deletion is right, raise delete_brake for this run (1 lets everything go).',
  )
}

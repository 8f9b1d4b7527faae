import { VitrinaError } from './errors.js'

/** An empty source is more often an upstream error than an intended empty mart. */
// biome-ignore lint/complexity/useMaxParams: until its callers in src/transfers pass an object.
export function requireBelowBrake(mart: string, deleted: number, size: number, brake: number): void {
  if (deleted <= size * brake) return
  throw new VitrinaError(
    'BRAKE',
    `The run would delete ${deleted} of the ${size} rows of ${mart}; delete_brake allows ${Math.round(brake * 100)} %.`,
    'Check that the source is complete. If the deletion is intended, raise delete_brake for this run (1 allows everything).',
  )
}

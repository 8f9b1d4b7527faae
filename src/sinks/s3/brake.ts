import { VitrinaError } from '../../model/errors.js'

/** Stops before more goes than the brake allows: an empty source is more often a mistake upstream than a wish. */
export function requireBrake(parts: {
  readonly deleted: number
  readonly of: number
  readonly brake: number
  readonly prefix: string
}): void {
  const { deleted, of, brake, prefix } = parts
  if (deleted <= of * brake) return
  throw new VitrinaError(
    'BRAKE',
    `The run would delete ${deleted} of the ${of} rows of s3:${prefix.slice(0, -1)}; delete_brake allows ${Math.round(brake * 100)} %.`,
    'See whether the source is complete. If the deletion is right, raise delete_brake for this run (1 lets everything go).',
  )
}

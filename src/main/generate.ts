import { type GenerateOptions, generate, type LoadProgress, type TableCounts } from '../cinema/index.js'
import { withClient } from './connect.js'
import type { MainSettings } from './environment.js'
import { prepareStore } from './prepare.js'

/** Fills the sample data with generated rows. The grants come last: schemas and tables may be new. */
export async function generateInto(
  settings: MainSettings,
  options: GenerateOptions,
  onProgress: (progress: LoadProgress) => void,
): Promise<TableCounts> {
  const counts = await withClient(settings.DATABASE_URL, (client) => generate(client, options, onProgress))
  await prepareStore(settings)
  return counts
}
